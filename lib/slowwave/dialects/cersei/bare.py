"""The dialect of Cersei's bare-message file: one ``Message`` a line, without envelope, ids of records or times.

Source of the rules: Cersei's ``JsonlMemory``, which rewrites the whole file at the end of each run.
"""

from collections.abc import Sequence

import msgspec

from slowwave.dialects.cersei.marks import BARE_ROLES
from slowwave.dialects.cersei.records import Body, CerseiMessage, Entry
from slowwave.dialects.chain import chain
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.records.lines import read_records

_DECODER = msgspec.json.Decoder(Body)


class CerseiBare:
    """Rules of the bare-message file."""

    name = "cersei-bare"

    def read(self, files: SessionFiles) -> Transcript:
        """Read the file; a bad line is reported and does not fail it, as it would in Cersei.

        Raises:
            UnreadableError: the file cannot be opened.
        """
        result = Transcript(self.name, files, problems=list(files.problems))
        for part, path in enumerate(files.paths):
            for span, body in read_records(path, _DECODER, result.problems, part=part):
                result.records += 1
                if body.role in BARE_ROLES:
                    result.messages.append(CerseiMessage(Entry(body.role, message=body), span))
                else:
                    kind = f"role {body.role}"
                    result.unknown_types[kind] = result.unknown_types.get(kind, 0) + 1
        chain(result.messages)
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return all messages: the file is exactly what the next run starts with."""
        return transcript.messages


CERSEI_BARE = CerseiBare()
