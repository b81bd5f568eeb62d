"""greville's models as models of other libraries; a module for each library."""
