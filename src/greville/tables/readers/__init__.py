"""Tables in files: a module for each format, and the one registry of formats.

A new format is a module with a function that reads it, and one call of `registry.register`.
"""
