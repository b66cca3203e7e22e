"""Mails to users about their jobs."""
