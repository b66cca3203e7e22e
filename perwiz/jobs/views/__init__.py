"""Reports about jobs: documents, text, pages."""
