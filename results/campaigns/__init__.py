"""Many runs together: their summary, and its pages in Markdown, in HTML and for a CI job.

Series of runs, the track record, qualifications and measurements of sensitivity use it.
"""
