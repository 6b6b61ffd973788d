"""What a scheduler starts: one file a job, each told as a story.

nightly      extract, then consolidate, project by project
extract      read what is new in the sessions and note candidates
consolidate  turn waiting candidates into memories
erase        take secrets out of transcripts and memories
"""
