"""Methods that rerank lists round by round, most of them UDLF's."""
