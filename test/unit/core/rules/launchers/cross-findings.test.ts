import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { crossFindings } from '../../../../../src/core/rules/launchers/cross-findings';
import { applied, factAt, launcherOf, withDefault, type Values } from '../launcher';
import { say } from '../../../../../src/core/sentence';

const model = launcherOf({ layers: 24, hidden: 2048, heads: 32, kvHeads: 4, ffn: 5632, vocab: 32_000 }, 'megatron-shell', 'models/tiny/config.json'); // prettier-ignore
const against = (values: Values) => crossFindings(launcherOf(values, 'megatron-shell'), model);

describe('a launcher and the model config of one run', () => {
  it('are compared size by size, at the launcher', () => {
    const launcher = launcherOf({ layers: 22, hidden: 2048, kvHeads: 8 }, 'megatron-shell');
    const found = crossFindings(launcher, model);
    assert.deepEqual(found.map((finding) => factAt(launcher, finding)), ['layers', 'kvHeads']); // prettier-ignore
    assert.equal(say(found[1]!.message), '8 here, 4 in config.json (--kvHeads): the key/value heads of one run');
    assert.deepEqual(crossFindings(applied(launcher, found[1]!.fixes[0]!), model), [found[0]]); // prettier-ignore
  });

  it('may differ in what only one of them sets', () => {
    assert.deepEqual(against({ experts: 8, tensor: 4 }), []);
  });

  it('may differ by padding of the vocabulary, whichever is padded, and by no more', () => {
    assert.deepEqual(against({ vocab: 32_256, tensor: 4 }), []);
    assert.deepEqual(against({ vocab: 31_900, tensor: 4 }), []);
    for (const vocab of [32_768, 32_001, 31_000]) assert.equal(against({ vocab, tensor: 4 }).length, 1, String(vocab));
  });

  it('report it when the other side is only the default of a model class', () => {
    const found = crossFindings(launcherOf({ ffn: 8192 }, 'nemo'), withDefault(model, 'ffn'));
    assert.match(say(found[0]!.message), /5,632 in config\.json \(by default\)/);
  });

  it('are not compared where the launcher itself has a default', () => {
    assert.deepEqual(crossFindings(withDefault(launcherOf({ layers: 22 }, 'nemo'), 'layers'), model), []);
  });
});
