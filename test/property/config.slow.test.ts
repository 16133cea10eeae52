import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ExpectedError } from '../../src/core/errors';
import type { Finding } from '../../src/core/findings';
import { runFindings } from '../../src/core/rules/run-findings';
import { load } from '../unit/core/config-files/files';
import { cases } from './cases';
import { say } from '../../src/core/sentence';

const terapipe = `{
  // a comment
  "model": { "from": "config.json", "vocab": 0 },
  "cluster": { "gpu": { "preset": "A100-80GB", "memoryGB": 40 }, "nodes": 2, "gpusPerNode": 8, "links": { "nicGBps": 50 } },
  "training": { "sequenceLength": 1024, "globalBatch": 8, "precision": "bf16", "sequenceParallel": true },
  "layout": { "tensor": 2, "pipeline": 4, "data": 2 },
  "slicing": { "unit": 64, "scheme": [[1, [512, 512]], [3, [1024]]] },
  "cost": { "issueFloorUs": 5, "table": { "tokens": [64, 128], "contexts": [0], "ms": [[1], [2]] } },
}`;
const llama = '{"model_type": "llama", "num_hidden_layers": 8, "num_key_value_heads": null, "attention_bias": true}';
const tokens = ['{', '}', '[', ']', ',', ':', '"', '\\', '/*', '//', '0', '-1', '1e308', '1e999', '9223372036854775808', 'null', 'true', '""', '\0', '\uFEFF', '\uD800', '"__proto__": 1,', '"constructor": {},', '\u001b', 'x'.repeat(300)]; // prettier-ignore

/** A text with pieces cut out, put in or doubled. */
function mangled(text: string): fc.Arbitrary<string> {
  const edit = fc.record({ at: fc.nat(text.length), remove: fc.nat(12), insert: fc.constantFrom('', ...tokens) });
  return fc
    .array(edit, { minLength: 1, maxLength: 4 })
    .map((edits) => edits.reduce((result, { at, remove, insert }) => result.slice(0, at) + insert + result.slice(at + remove), text));
}

function inside(finding: Finding, texts: ReadonlyMap<string, string>): boolean {
  const places = [finding.place, ...finding.fixes.flatMap(({ edits }) => edits.map(({ place }) => place))];
  return places.every(({ file, range }) => range.start <= range.end && range.end <= (texts.get(file)?.length ?? -1));
}

describe('config readers', () => {
  it('answer any mangled text with a run or an error at a place inside it', async () => {
    await fc.assert(
      fc.asyncProperty(mangled(terapipe), mangled(llama), fc.boolean(), async (plan, config, both) => {
        const files = { 'terapipe.json': plan, 'config.json': both ? config : llama };
        try {
          const run = await load(files);
          const texts = run.texts ?? new Map<string, string>();
          for (const finding of runFindings(run, null)) assert.ok(inside(finding, texts), finding.code);
        } catch (error) {
          assert.ok(error instanceof ExpectedError, String(error));
          const { place } = error;
          assert.ok(place, error.code);
          assert.ok(place.range.end <= files[place.file as keyof typeof files].length, error.code);
          assert.ok(!/\p{Cc}/u.test(error.message), error.message);
        }
      }),
      { seed: 11, numRuns: cases(400, 6000) },
    );
  });

  it('offer fixes that make their finding go away', async () => {
    const size = fc.constantFrom(1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 48);
    const config = fc.record({
      model: fc.record({
        layers: fc.integer({ min: 1, max: 96 }),
        hidden: fc.constantFrom(512, 768, 960),
        heads: fc.constantFrom(8, 12, 15),
        vocab: fc.constant(0),
      }),
      cluster: fc.record({ gpu: fc.constant('H200'), nodes: size, gpusPerNode: fc.constantFrom(4, 8) }),
      layout: fc.record({ tensor: size, pipeline: size, data: size, virtualStages: size }, { requiredKeys: [] }),
      training: fc.record(
        { sequenceLength: fc.constantFrom(1000, 1024, 4100), globalBatch: fc.integer({ min: 1, max: 64 }), microBatch: size },
        { requiredKeys: [] },
      ),
      slicing: fc.record({ unit: size }),
    });
    await fc.assert(
      fc.asyncProperty(config, async (written) => {
        const text = JSON.stringify(written, null, 2);
        const run = await load({ 'terapipe.json': text });
        for (const { code, fixes } of runFindings(run, null))
          for (const { edits, title } of fixes) {
            const mended = [...edits]
              .sort((a, b) => b.place.range.start - a.place.range.start)
              .reduce((result, { place, newText }) => result.slice(0, place.range.start) + newText + result.slice(place.range.end), text);
            const after = runFindings(await load({ 'terapipe.json': mended }), null);
            assert.ok(!after.some((finding) => finding.code === code && finding.severity === 'error'), `${code}: ${say(title)}\n${text}`);
          }
      }),
      { seed: 12, numRuns: cases(80, 1200) },
    );
  });
});
