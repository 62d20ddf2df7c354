"""Notebooks, figures and the site: what people see."""
