"""Reports for people: numbers in words, sentences, one self-contained page. Pure; no clock, no file."""
