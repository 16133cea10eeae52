import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import { launcherFormats } from '../../../../src/core/launchers/registry';
import { launchFindings } from '../../../../src/core/rules/launch-findings';
import { rules } from '../../../../src/core/rules/table';
import { applied, codesOf, factAt, launcherOf, read, withDefault, type Values } from './launcher';
import { pairs } from './pairs';
import { say } from '../../../../src/core/sentence';
import { shellReader } from '../launchers/shell/shell-reader';

const formats = launcherFormats;

describe('launch rules', () => {
  it('have a pair of examples each', () => {
    const ofLaunchers = rules.filter((rule) => formats.some((format) => rule.formats.includes(format)));
    const codes = ofLaunchers.map(({ code }) => code);
    assert.deepEqual([...new Set(pairs.map(({ code }) => code))].sort(), codes.sort(), 'add the pair to test/unit/core/rules/pairs.ts');
  });

  for (const { code, format, bad, ok, at, message, remedy, fixes } of pairs)
    it(`${code}: finds it, shows it in numbers, and fixes it`, () => {
      const launcher = launcherOf(bad, format);
      const found = launchFindings(launcher).find((finding) => finding.code === code);
      assert.ok(found, codesOf(launchFindings(launcher)).join());
      assert.ok(!codesOf(launchFindings(launcherOf(ok, format))).includes(code));
      assert.equal(factAt(launcher, found), at);
      assert.ok(say(found.message).includes(message), say(found.message));
      assert.ok(say(found.remedy).startsWith(remedy), say(found.remedy));
      assert.deepEqual(found.fixes.map(({ title }) => say(title)), fixes); // prettier-ignore
      assert.ok(found.fixes.every(({ preferred }, index) => preferred === (index === 0)));
      for (const fix of found.fixes)
        assert.ok(!codesOf(launchFindings(applied(launcher, fix))).includes(code), `${say(fix.title)} leaves ${code}`);
    });

  it('speak of their own formats only', () => {
    for (const { code, bad } of pairs) {
      const allowed = rules.find((rule) => rule.code === code)?.formats ?? [];
      for (const format of formats.filter((name) => !allowed.includes(name)))
        assert.ok(!codesOf(launchFindings(launcherOf(bad, format))).includes(code), `${code} in ${format}`);
    }
  });

  it('finds nothing in files that set nothing, or that are not launchers', () => {
    for (const format of formats) assert.deepEqual(launchFindings(launcherOf({}, format)), []);
    const { bad } = pairs[0]!;
    for (const format of ['huggingface', 'terapipe', 'onnx'] as const)
      assert.deepEqual(launchFindings({ ...launcherOf(bad, 'megatron-shell'), format }), []);
  });
});

describe('launch findings', () => {
  const uneven = launcherOf({ layers: 30, pipeline: 4 }, 'megatron-shell');

  it('come most severe first', () => {
    const launcher = launcherOf(
      { vocab: 50_257, sequenceParallel: true, tensor: 1, layers: 30, pipeline: 4, microBatches: 2 },
      'megatron-shell',
    );
    const severities = launchFindings(launcher).map(({ severity }) => severity);
    assert.deepEqual(severities, ['error', 'warning', 'information', 'information']);
  });

  it('are at a value that a file gives, never at a default', () => {
    const [found] = launchFindings(withDefault(uneven, 'pipeline'));
    assert.equal(factAt(uneven, found!), 'layers');
    assert.deepEqual(found!.fixes, []);
  });

  it('are at the run where no file gives any value, and are left out if they are only information', () => {
    const nowhere = withDefault(withDefault(uneven, 'pipeline'), 'layers');
    assert.deepEqual(launchFindings(nowhere)[0]?.place, uneven.place);
    assert.deepEqual(launchFindings(withDefault(launcherOf({ vocab: 50_257 }, 'megatron-shell'), 'vocab')), []);
  });

  it('offer no removal of the last setting, by which a launcher is recognised', () => {
    const removals = (values: Values): string[] =>
      launchFindings(launcherOf(values, 'megatron-yaml')).flatMap(({ fixes }) => fixes.map(({ title }) => say(title)));
    assert.ok(removals({ layersPerVirtualStage: 2, layers: 24 }).includes('Remove --layersPerVirtualStage'));
    assert.deepEqual(removals({ layersPerVirtualStage: 2 }), []);
  });

  it('keep quotes and the way a file writes truth', () => {
    const quotedSize = read('layers: 30\npipeline: 4\n', 'nemo');
    const { source } = quotedSize.facts.pipeline!;
    assert.ok(source.kind === 'file');
    const text = 'layers: 30\npipeline: "4"\n';
    const place = { ...source.place, range: { start: source.place.range.start, end: source.place.range.end + 2 } };
    const launcher = { ...quotedSize, text, facts: { ...quotedSize.facts, pipeline: { value: 4, source: { ...source, place } } } };
    assert.equal(launchFindings(launcher)[0]?.fixes[0]?.edits[0]?.newText, '"5"');
    const python = { ...launcherOf({ pipeline: 2, virtualStages: 2, overlapP2p: false }, 'nemo') };
    const capital = { ...python, text: python.text.replace('false', 'False') };
    assert.equal(launchFindings(capital)[0]?.fixes[0]?.edits[0]?.newText, 'True');
  });

  it('offer no edit of an expression, nor of another file', () => {
    const expression = { ...uneven, text: uneven.text.replace(': 4', ':$P') };
    assert.deepEqual(launchFindings(expression)[0]?.fixes, []);
    assert.deepEqual(launchFindings({ ...uneven, file: 'another' })[0]?.fixes, []);
  });

  it('choose sizes that the GPUs of the run allow', () => {
    const launcher = launcherOf({ layers: 30, pipeline: 4, tensor: 1, world: 8 }, 'megatron-shell');
    assert.deepEqual(launchFindings(launcher)[0]?.fixes.map(({ title }) => say(title)), ['Set --pipeline to 2']); // prettier-ignore
  });

  it('do not take a recipe of Megatron-Bridge for its defaults', () => {
    assert.deepEqual(
      launchFindings(launcherOf({ sequenceParallel: true, vocab: 50_257, world: 6, globalBatch: 5 }, 'megatron-bridge')),
      [],
    );
  });

  it('do not mind few micro-batches where virtual stages keep the pipeline busy', () => {
    const idleOf = (microBatches: number): string[] =>
      launchFindings(launcherOf({ pipeline: 4, virtualStages: 8, microBatches }, 'nemo'))
        .filter(({ code }) => code === 'microbatches-below-stages')
        .map(({ message }) => say(message));
    // fewer than stages are refused, which is reported in its place
    assert.deepEqual(idleOf(2), []);
    assert.deepEqual(idleOf(4), []);
  });

  it('distinguishes heads that are repeated from heads that cannot be', () => {
    const severityOf = (format: LauncherFormat) => launchFindings(launcherOf({ heads: 32, kvHeads: 2, tensor: 8 }, format))[0]?.severity;
    assert.deepEqual([severityOf('nemo'), severityOf('torchtitan')], ['warning', 'error']);
  });

  it('divide experts by the expert tensor size, and dense layers by the tensor size', () => {
    const routed = { layers: 4, heads: 32, tensor: 8, ffn: 5001, experts: 8, activeExperts: 2, expertFfn: 500 };
    const messages = (values: Values) =>
      launchFindings(launcherOf({ ...routed, ...values }, 'megatron-shell')).flatMap(({ code, message }) =>
        code === 'width-tensor' ? [say(message)] : [],
      );
    assert.deepEqual(messages({}), ['An expert width of 500 is not divisible by a tensor size of 8']);
    assert.deepEqual(messages({ expertTensor: 1 }), []);
    assert.deepEqual(messages({ expertTensor: 1, moeLayerFrequency: '([0]*1+[1]*3)' }), ['A feed-forward width of dense layers of 5,001 is not divisible by a tensor size of 8']); // prettier-ignore
  });

  it("hold experts to the biases that Megatron-LM's own layers have without a flag", () => {
    const routed = { layers: 4, hidden: 64, heads: 8, tensor: 2, ffn: 256, experts: 8, activeExperts: 2 };
    const found = (values: Values, traits: { readonly hasSilentBiases?: true } = { hasSilentBiases: true }) => {
      const launcher = { ...launcherOf({ ...routed, ...values }, 'megatron-shell'), program: { name: 'a program', traits } };
      return launchFindings(launcher).flatMap(({ code, severity }) => (code === 'expert-bias' ? [severity] : []));
    };
    // scripts of a core that does not check it may run
    assert.deepEqual([found({}), found({ bias: true }), found({ expertTensor: 2 })], [['warning'], ['warning'], ['warning']]);
    // no core before 0.13 takes a layout, none before 0.14 the overlap
    const layout = { pipelineLayout: 'Et*2|t*2L', pipeline: 2 };
    const overlap = { expert: 2, expertTensor: 2, overlapExpertComm: true };
    assert.deepEqual([found(layout), found({ ...layout, expertTensor: 2 }), found(overlap)], [['error'], ['error'], ['error']]);
    assert.deepEqual([found({ bias: false }), found({ expertTensor: 1 }), found({ tensor: 1 })], [[], [], []]);
    // a fork of its own, and Megatron-DeepSpeed, whose experts have biases
    assert.deepEqual([found({ expertTensor: 2 }, {}), found({ zeroStage: 1 })], [[], []]);
  });

  it('hold experts to their biases for sure in scripts with flags that only a core which checks them takes', async () => {
    const shell = await shellReader();
    const sizes = '--num-layers 4 --hidden-size 64 --num-attention-heads 8 --tensor-model-parallel-size 2 --num-experts 8';
    const severities = (flags: string) => {
      const launcher = {
        ...shell('run.sh', `torchrun pretrain_gpt.py ${sizes} ${flags}\n`),
        program: { name: 'a program', traits: { hasSilentBiases: true as const } },
      };
      return launchFindings(launcher).flatMap(({ code, severity }) => (code === 'expert-bias' ? [severity] : []));
    };
    assert.deepEqual(['', '--softmax-type learnable', '--activation-func-clamp-value 7'].map(severities), [
      ['warning'],
      ['error'],
      ['error'],
    ]);
  });

  it('know every wrong pair of recompute settings', () => {
    const messages = (values: Values) =>
      launchFindings(launcherOf(values, 'megatron-shell')).map(({ severity, message }) => `${severity}: ${say(message)}`);
    assert.deepEqual(messages({ recomputeGranularity: 'full' }), [
      'error: Full recompute needs a method, uniform or block, and none is given',
    ]);
    assert.deepEqual(messages({ recomputeMethod: 'uniform' }), [
      'warning: Without a granularity nothing is recomputed: this setting has no effect',
    ]);
    assert.deepEqual(
      launchFindings(launcherOf({ recomputeMethod: 'uniform' }, 'nemo')).map(({ severity }) => severity),
      ['information'],
    );
    assert.deepEqual(messages({ recomputeGranularity: 'selective', recomputeLayers: 2 }), [
      'error: Selective recompute takes no number of layers, and 2 layers are given',
    ]);
    assert.deepEqual(messages({ recomputeGranularity: 'selective' }), []);
    // Megatron Core takes a method, and NeMo's own layers want one
    assert.deepEqual(launchFindings(launcherOf({ recomputeGranularity: 'selective', recomputeMethod: 'uniform' }, 'nemo')), []);
  });

  it('count an embedding or a loss as a layer where the run does', () => {
    assert.deepEqual(
      launchFindings(launcherOf({ layers: 30, pipeline: 4, embeddingAsLayer: true, lossAsLayer: true }, 'megatron-shell')),
      [],
    );
    assert.equal(launchFindings(launcherOf({ layers: 32, pipeline: 4, lossAsLayer: true }, 'megatron-shell')).length, 1);
  });

  it('treat absurd numbers as unknown', () => {
    for (const size of [0, -4, 1.5, 1e300, Number.MAX_SAFE_INTEGER])
      assert.deepEqual(launchFindings(launcherOf({ layers: 30, pipeline: size }, 'megatron-shell')), []);
  });
});
