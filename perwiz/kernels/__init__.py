"""Every hot loop: typed arrays in, arrays out. Compiled where perwiz is installed, plain Python in the source tree."""
