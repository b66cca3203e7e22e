"""Threads of a rank that work for its first one: those of autograd and of Gloo."""
