"""What a scheduler starts: one file a job, each told as a story.

nightly      extract, consolidate and, where the settings say so, compact and retain
extract      read what is new in the sessions and note facts worth remembering
consolidate  turn the facts that wait into memories
compact      append summaries to sessions that have grown too large
retain       archive and remove what the rules no longer keep
erase        take secrets out of transcripts and memories
"""
