import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { completeInline } from '../../../../src/core/terapipe/inline-model';
import type { Fact, Facts, FactValues, LauncherFile } from '../../../../src/core/run/facts';
import { runOfLauncher } from '../../../../src/core/launchers/launcher-run';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';

function launcher(values: Partial<FactValues>): LauncherFile {
  const place = { file: 'train.sh', range: { start: 0, end: 1 } };
  const facts = Object.fromEntries(
    Object.entries(values).map(([name, value]): [string, Fact<unknown>] => [name, { value, source: { kind: 'file', place, key: name } }]),
  ) as Facts;
  return { file: 'train.sh', format: 'megatron-shell', text: '', place, facts, remarks: [], modelFiles: [], placeholders: [] };
}

const sizes = { layers: 24, hidden: 1024, heads: 16, vocab: 50257, maxPositions: 1024 } as const;
const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;

describe('the run of a launcher', () => {
  it('plans exactly the layout, batch and schedule that are launched', () => {
    const facts: Partial<FactValues> = {
      tensor: 2,
      pipeline: 4,
      virtualStages: 2,
      sequenceLength: 1024,
      microBatch: 2,
      globalBatch: 64,
      precision: 'bf16' as const,
      world: 16,
      distributedOptimizer: true,
      recomputeGranularity: 'full',
      sequenceParallel: true,
    };
    const run = runOfLauncher(launcher({ ...sizes, ...facts }), 'train', null);
    const plan = makePlan(resolveRun(run, defaults));
    const { layout, training, schedule, cluster } = plan.request;
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data, layout.virtualStages], [2, 4, 2, 2]);
    assert.deepEqual([training.microBatch, training.globalBatch, training.zeroStage, training.recompute], [2, 64, 1, 'full']);
    assert.equal(training.sequenceParallel, true);
    assert.equal(schedule, '1F1B');
    assert.equal(cluster.nodes * cluster.gpusPerNode, 16);
    assert.equal(chosenCandidate(plan).schedule, '1F1B');
  });

  it('is run by DeepSpeed where a script of Megatron-LM has settings only of DeepSpeed', () => {
    const runtime = (facts: Partial<FactValues>) => runOfLauncher(launcher({ ...sizes, ...facts }), 'train', null).training.runtime?.value;
    assert.deepEqual(
      [runtime({}), runtime({ zeroStage: 1 }), runtime({ activationCheckpointing: true })],
      [undefined, 'deepspeed', 'deepspeed'],
    );
  });

  it('takes the schedule that the launcher names, in any case, and 1F1B for names of its own', () => {
    const named = (schedule: string) => runOfLauncher(launcher({ ...sizes, pipeline: 4, schedule }), 'train', null).schedule?.value;
    assert.deepEqual(['zbvzerobubble', 'Interleaved1F1B', 'gpipe', 'mine'].map(named), [
      'ZBVZeroBubble',
      'Interleaved1F1B',
      'GPipe',
      '1F1B',
    ]);
  });

  it('distinguishes groups of recomputed layers from a number of them, and how many have their activations on the host', () => {
    const training = (facts: Partial<FactValues>) => {
      const given = runOfLauncher(launcher({ ...sizes, ...facts }), 'train', null).training;
      return [given.recomputeGroup?.value, given.recomputeLayers?.value, given.activationOffloadLayers?.value];
    };
    const full = { recomputeGranularity: 'full' } as const;
    assert.deepEqual(training({ ...full, recomputeMethod: 'uniform', recomputeLayers: 4 }), [4, undefined, undefined]);
    assert.deepEqual(training({ ...full, recomputeLayers: 2 }), [2, undefined, undefined]);
    assert.deepEqual(training({ ...full, recomputeMethod: 'uniform', recomputeLayers: 1 }), [undefined, undefined, undefined]);
    assert.deepEqual(training({ ...full, recomputeMethod: 'block', recomputeLayers: 4 }), [undefined, 4, undefined]);
    assert.deepEqual(training({ cpuOffloading: true, activationOffloadLayers: 5 }), [undefined, undefined, 5]);
    assert.deepEqual(training({ cpuOffloading: false, activationOffloadLayers: 5 }), [undefined, undefined, undefined]);
    assert.deepEqual(training({ ...full, cpuCheckpointing: true }), [undefined, undefined, sizes.layers]);
    assert.deepEqual(training({ cpuCheckpointing: true }), [undefined, undefined, undefined]);
  });

  it('counts virtual stages from layers on each, and leaves out what does not divide', () => {
    const virtual = (layersPerVirtualStage: number) =>
      runOfLauncher(launcher({ ...sizes, pipeline: 4, layersPerVirtualStage }), 'train', null).layout.virtualStages?.value;
    assert.equal(virtual(2), 3);
    assert.equal(virtual(5), undefined);
  });

  it('takes sizes that the launcher leaves open from the model config, and its own where both speak', () => {
    const place = { file: 'config.json', range: { start: 0, end: 1 } };
    const given = Object.fromEntries(
      Object.entries({ layers: 12, hidden: 768, heads: 12 }).map(([key, value]) => [key, { value, source: { kind: 'file', place, key } }]),
    ) as Parameters<typeof completeInline>[0];
    const joined = { model: completeInline(given, place), texts: new Map([['config.json', '{}']]) };
    const run = runOfLauncher(launcher({ layers: 24, tensor: 2 }), 'train', joined);
    assert.deepEqual([run.model.layers.value, run.model.hidden.value], [24, 768]);
    assert.deepEqual(run.files, ['train.sh', 'config.json']);
  });

  it('shows what is missing when the sizes are nowhere', () => {
    assert.throws(() => runOfLauncher(launcher({ tensor: 2, layers: 4 }), 'train', null), {
      code: 'config-model-incomplete',
      message: /hidden size, attention heads/,
    });
  });

  it('reads every launcher word for recomputation', () => {
    const recompute = (word: string) =>
      runOfLauncher(launcher({ ...sizes, recomputeGranularity: word }), 'x', null).training.recompute?.value;
    assert.deepEqual(['full', 'selective', 'none', 'op'].map(recompute), ['full', 'selective', 'none', 'selective']);
  });

  it('plans latent attention, shared experts and dense layers that flags describe', () => {
    const run = runOfLauncher(
      launcher({
        layers: 4,
        hidden: 5120,
        heads: 128,
        kvHeads: 128,
        ffn: 12288,
        vocab: 102400,
        gatedMlp: true,
        tiedEmbeddings: false,
        latentAttention: true,
        qLoraRank: 1536,
        kvLoraRank: 512,
        qkNopeHeadDim: 128,
        qkRopeHeadDim: 64,
        vHeadDim: 128,
        experts: 160,
        activeExperts: 6,
        expertFfn: 1536,
        sharedExpertFfn: 3072,
        moeLayerFrequency: '([0]*1+[1]*3)*1',
        tensor: 2,
        pipeline: 2,
        expert: 8,
        expertTensor: 1,
        world: 16,
        sequenceLength: 4096,
        distributedOptimizer: true,
      }),
      'train',
      null,
    );
    const { model, layout } = resolveRun(run, defaults);
    assert.equal(model.latent?.qRank, 1536);
    assert.deepEqual([model.ffn, model.denseFfn, model.experts], [1536, 12288, { count: 160, active: 6, sharedFfn: 3072 }]);
    assert.deepEqual(
      model.layerKinds?.map(({ feedForward }) => feedForward),
      ['dense', 'experts', 'experts', 'experts'],
    );
    assert.deepEqual([layout.expert, layout.expertTensor, layout.data], [8, 1, 4]);
  });

  it('reads how much is recomputed, and by which modules', () => {
    const training = (facts: Partial<FactValues>) => runOfLauncher(launcher({ ...sizes, ...facts }), 'x', null).training;
    const block = (recomputeLayers: number) => training({ recomputeGranularity: 'full', recomputeMethod: 'block', recomputeLayers });
    assert.deepEqual([block(2).recompute?.value, block(2).recomputeLayers?.value], ['full', 2]);
    assert.deepEqual([block(0).recompute?.value, block(0).recomputeLayers], ['none', undefined]);
    const modules = training({ recomputeGranularity: 'selective', recomputeModules: ['moe_act', 'unheard_of'] });
    assert.deepEqual(modules.recomputeModules?.value, ['moe_act']);
    assert.equal(training({ contextCommunication: 'p2p' }).contextParallelComm?.value, 'ring');
    assert.equal(training({ contextCommunication: 'a2a' }).contextParallelComm?.value, 'all-to-all');
  });

  it('is not planned as something else when the launcher sets a model that is not planned', () => {
    for (const kind of [{ latentAttention: true }, { hybridPattern: 'M-X*' }] as const) {
      const run = runOfLauncher(launcher({ ...sizes, ...kind }), 'x', null);
      assert.throws(() => resolveRun(run, defaults), { code: 'model-not-planned' });
    }
    assert.equal(runOfLauncher(launcher({ ...sizes, latentAttention: false, moeLayerFrequency: '1' }), 'x', null).unplanned, undefined);
  });

  it('attends within the window that the launcher gives, in a hybrid too', () => {
    const windows = (facts: Partial<FactValues>) =>
      runOfLauncher(launcher({ ...sizes, ...facts }), 'x', null).traits?.layerKinds?.map(({ window }) => window);
    assert.deepEqual(windows({ layers: 2, slidingWindow: 128 }), [128, 128]);
    assert.deepEqual(windows({ layers: 4, slidingWindow: 128, hybridPattern: 'M*-*' }), [null, 128, null, 128]);
    assert.deepEqual(windows({ layers: 2, slidingWindow: 128, linearAttentionFrequency: '2' }), [null, 128]);
    assert.equal(windows({ layers: 2 }), undefined);
    assert.deepEqual(windows({ layers: 4, slidingWindow: 128, windowFrequency: '2' }), [128, null, 128, null]);
    assert.deepEqual(windows({ layers: 3, slidingWindow: 128, windowFrequency: '[0]+[1]*2' }), [null, 128, 128]);
    assert.deepEqual(windows({ layers: 4, slidingWindow: 128, hybridPattern: 'M*-*', windowFrequency: '4' }), [null, 128, null, null]);
    const unread = runOfLauncher(launcher({ ...sizes, slidingWindow: 128, windowFrequency: '[1,0]' }), 'x', null);
    assert.throws(() => resolveRun(unread, defaults), { code: 'model-not-planned' });
  });

  it('has the layers of both stacks and both lengths of an encoder-decoder model', () => {
    const lengths = { encoderSequenceLength: 512, decoderSequenceLength: 128 };
    const run = runOfLauncher(launcher({ ...sizes, encoderLayers: 12, decoderLayers: 6, ...lengths }), 'x', null);
    assert.deepEqual([run.model.layers.value, run.model.encoderLayers.value], [18, 12]);
    const { model, training } = resolveRun(run, defaults);
    assert.deepEqual([model.stacks?.encoderLayers, training.sequenceLength, training.decoderSequenceLength], [12, 512, 128]);
  });

  it('is not planned as a dense encoder-decoder where the launcher gives it experts or further tokens', () => {
    for (const more of [{ experts: 8, activeExperts: 2 }, { mtpLayers: 1 }]) {
      const run = runOfLauncher(launcher({ ...sizes, encoderLayers: 12, decoderLayers: 6, ...more }), 'x', null);
      assert.throws(() => resolveRun(run, defaults), { code: 'plan-encoder-decoder' });
    }
  });

  it('keeps biases of a launcher that switches them off', () => {
    const { model } = runOfLauncher(launcher({ ...sizes, bias: false }), 'x', null);
    assert.deepEqual([model.qkvBias.value, model.mlpBias.value, model.attentionOutputBias.value], [false, false, false]);
  });
});
