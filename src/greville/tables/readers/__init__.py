"""Tables in files: a module for each format, and one list of formats.

A new format is a module with a function `read`, and a line in `formats`.
"""
