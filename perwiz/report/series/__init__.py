"""The report of `perwiz series`: document, text, picture and page."""
