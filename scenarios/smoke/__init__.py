"""Quick and simple: does the whole machine work?"""
