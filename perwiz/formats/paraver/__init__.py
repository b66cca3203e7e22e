"""Paraver traces, such as Extrae makes, written."""
