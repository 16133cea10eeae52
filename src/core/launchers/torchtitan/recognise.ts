const line = /^[ \t]*(?:\[[ \t]*([\w.-]+)[ \t]*\]|([\w.-]+)[ \t]*=)/gm;

/** Keys that no other tool has, under the sections that TorchTitan has had them in. */
const own =
  /^(parallelism|training|experimental)\.((data|tensor|pipeline|context|expert)(_tensor)?_parallel(_replicate|_shard)?_degree|pipeline_parallel_\w+)$/;

/**
 * Whether a TOML text is TorchTitan's: a parallel degree where TorchTitan has it, or a model's flavour with a sequence length. Two passes
 * at most, no parse: works on broken files too.
 */
export function isTorchTitan(text: string): boolean {
  if (!text.includes('_parallel_') && !text.includes('flavor')) return false;
  let section = '';
  const pair = new Set<string>();
  for (const [, header, key] of text.matchAll(line)) {
    if (header !== undefined) section = `${header}.`;
    if (key === undefined) continue;
    const name = section + key;
    if (own.test(name)) return true;
    if (name === 'model.flavor' || name === 'training.seq_len') pair.add(name);
    if (pair.size === 2) return true;
  }
  return false;
}
