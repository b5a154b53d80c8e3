"""carboy in the frameworks that people build agents and notebooks with.

Each module is for one framework and imports it; this package imports none of them. What the code in a
jar wrote reaches a framework only as bounded text or as JSON.
"""
