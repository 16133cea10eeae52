import type { Finding } from '../findings';

/** `# terapipe-ignore: code, code` of shell, YAML, TOML and Python, `// terapipe-ignore: code` of JSON with comments. */
const comment = /(?:#|\/\/)[ \t]*terapipe-ignore:[ \t]*([a-z\d-]+(?:[ \t]*,[ \t]*[a-z\d-]+)*)/g;

/** `"terapipe-ignore": "code"` or a list of codes, of strict JSON. */
const key = /"terapipe-ignore"\s*:\s*("[^"\n]*"|\[[^\]]*\])/g;

/** Codes that findings had on a terapipe.json or a model config, by those of today: what switches them off switches them off still. */
export const formerCodes: ReadonlyMap<string, string> = new Map([
  ['pp-layers-not-divisible', 'layers-not-divisible'],
  ['world-size-factor', 'world-size'],
  ['heads-tp', 'heads-tensor'],
  ['kv-heads-tp', 'kv-heads-tensor'],
  ['vpp-layers-lost', 'layers-virtual-stages'],
  ['expert-world-factor', 'expert-replicas'],
  ['experts-not-divisible', 'experts-expert'],
  ['vocab-padding', 'vocabulary-padding'],
  ['state-tp', 'state-tensor'],
  ['gbs-not-divisible', 'global-batch'],
  ['cp-seq-multiple', 'context-length'],
  ['sp-tp-seq', 'sequence-parallel-length'],
  ['microbatches-below-stages', 'few-micro-batches'],
  ['offload-with-pp', 'activations-offload'],
  ['offload-with-recompute', 'activations-offload'],
  ['offload-layers', 'activations-offload'],
  ['zero-with-pp', 'zero-with-pipeline'],
  ['memory-over-capacity', 'layout-too-large'],
]);

/** Codes that a text switches off for the whole file. One scan, no parse: works on broken files too. */
function switchedOffIn(text: string): ReadonlySet<string> {
  if (!text.includes('terapipe-ignore')) return new Set();
  const lists = [...text.matchAll(comment), ...text.matchAll(key)].map(([, codes = '']) => codes);
  return new Set(lists.flatMap((codes) => codes.match(/[a-z\d-]+/g) ?? []));
}

/**
 * Of findings those that nobody switched off: neither the file that they are in, nor the config that was opened, nor a setting.
 * @param texts by file. @param off codes that settings switch off.
 */
export function notSuppressed(
  findings: readonly Finding[],
  file: string,
  texts: ReadonlyMap<string, string>,
  off: ReadonlySet<string> = new Set(),
): readonly Finding[] {
  const files = new Set([file, ...findings.map(({ place }) => place.file)]);
  const byFile = new Map([...files].map((name) => [name, switchedOffIn(texts.get(name) ?? '')]));
  if (off.size === 0 && [...byFile.values()].every(({ size }) => size === 0)) return findings;
  return findings.filter(({ code, place }) => {
    const former = formerCodes.get(code) ?? code;
    return ![off, byFile.get(file), byFile.get(place.file)].some((codes) => codes?.has(code) === true || codes?.has(former) === true);
  });
}
