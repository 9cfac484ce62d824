"""Comparing the hashes of a corpus while training has begun: a damaged token is still a valid token."""

from threading import Thread

from ordinate.core.errors import InputError
from ordinate.text.corpus import Corpus, open_corpus


class DataCheck:
    """Reads all shards in a thread. Their sizes and headers were checked where the corpus was opened.

    No step waits for it, but no checkpoint is written before it has ended.
    """

    def __init__(self, corpus: Corpus, *, needed: bool) -> None:
        self.corpus = corpus
        self.error: InputError | OSError | None = None
        self.thread = Thread(target=self._compare, daemon=True)
        if needed:
            self.thread.start()

    @property
    def ended(self) -> bool:
        return not self.thread.is_alive()

    @property
    def failed(self) -> bool:
        return self.error is not None

    def wait(self) -> None:
        """Wait for the end; raises an InputError if the corpus is damaged."""
        if not self.ended:
            self.thread.join()
        if self.error is not None:
            raise self.error

    def _compare(self) -> None:
        try:
            open_corpus(self.corpus.folder, verify=True)
        except (InputError, OSError) as error:
            self.error = error
