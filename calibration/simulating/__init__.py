"""Planted judges with known errors, put through the shipped report and decision."""
