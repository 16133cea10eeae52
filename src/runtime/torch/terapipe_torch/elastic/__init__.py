"""
Training that freezes layers from the bottom (PipeTransformer, arXiv 2102.03161): shorter pipelines, more replicas, and a
cache of what frozen layers compute.
"""
