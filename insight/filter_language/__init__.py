"""The filter language of lists: ``status:failed,retrying duration:>30s -label:test invoice``.

A text is split into tokens (:mod:`.tokens`) and read by the fields of a list (:mod:`.fields`) into
terms (:mod:`.terms`), which render back to one canonical text. :mod:`.conditions` turns terms into
conditions of querysets, :mod:`.suggestions` completes a text that is being typed, and
:mod:`.reference` writes the reference page. The API, the commands and the console all read a text
here, so it means the same everywhere.
"""
