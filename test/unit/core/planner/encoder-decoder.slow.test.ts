import assert from 'node:assert/strict';
import type { ModelSpec } from '../../../../src/core/domain/model';
import { sequenceFlops } from '../../../../src/core/model/flops';
import { megatronBoundary } from '../../../../src/core/time-model/boundary';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { scheduleTransfers } from '../../../../src/core/planner/predict/transfers';
import type { Schedule } from '../../../../src/core/schedules/schedule';
import { layerTime } from '../../../../src/core/time-model/layer-time';
import { unitMemory } from '../../../../src/core/memory-model/chunk-memory';
import { savedBytes } from '../../../../src/core/memory-model/activation-memory';
import type { MemoryInputs, Layout, PlanRequest, TrainingSpec } from '../../../../src/core/domain/request';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { splitsHeads } from '../../../../src/core/model/mixers';
import { parameterCount } from '../../../../src/core/model/parameters';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import { stackCut, stacksText } from '../../../../src/core/partition/stack-cut';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { searchKeys } from '../../../../src/core/domain/layout-choices';
import { cutContents } from '../../../../src/core/partition/stages';
import { unlikeOneLayer } from '../../../../src/core/measured-profile/shape';
import { request } from '../../../golden/requests';
import { load } from '../config-files/files';
import { bart, modelOf, t5, whisper } from './stacks';
import { say } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const lengths = { sequenceLength: 512, decoderSequenceLength: 128 };
const usual: Partial<TrainingSpec> = { ...lengths, attention: 'flash', dropout: false, fusedCrossEntropy: true, precision: 'bf16' };

function asked(model: ModelSpec, layout: Partial<Layout>, training: Partial<TrainingSpec> = {}): PlanRequest {
  return request('H100-80GB', model, { training: { ...usual, globalBatch: 16, ...training }, layout });
}

function stagesOf(wanted: PlanRequest) {
  const cut = wanted.layout.stageLayers ?? stackCut(wanted.model, wanted.training, wanted.layout.pipeline);
  return cutContents(cut, wanted.model);
}

const unit = { microBatch: 0, slice: 0, batch: 2, tokens: 512, context: 0 };

describe('an encoder-decoder model', () => {
  it('takes the FLOPs of both lengths: all pairs in the encoder, the causal half in the decoder, source and target between them', () => {
    const model = modelOf({
      model_type: 't5',
      d_model: 64,
      d_ff: 256,
      d_kv: 16,
      num_heads: 4,
      num_layers: 3,
      num_decoder_layers: 2,
      vocab_size: 1000,
    });
    const [source, target, h, f] = [512, 128, 64, 256];
    const square = h * h;
    const encoder = source * (4 * square + 2 * h * f) + source * source * 2 * h;
    const decoder =
      target * (4 * square + 2 * square + 2 * h * f) + source * 2 * square + ((target * target) / 2 + target * source) * 2 * h;
    assert.equal(sequenceFlops(model, lengths), 6 * (3 * encoder + 2 * decoder + target * h * 1000));
  });

  it('counts the two convolutions of Whisper', () => {
    const model = whisper(2, 2);
    const without = { ...model, stacks: { ...model.stacks!, melBins: undefined } } as unknown as ModelSpec;
    assert.equal(sequenceFlops(model, lengths) - sequenceFlops(without, lengths), 6 * (1024 * 3 * 80 * 1280 + 512 * 3 * 1280 * 1280));
  });

  it('takes longer in a decoder layer the longer the source is, and as long in an encoder layer however long the target is', () => {
    const of = (training: Partial<TrainingSpec>, stack: 'encoder' | 'decoder') =>
      layerTime(asked(t5(4, 4), { tensor: 2 }, training), { feedForward: 'dense', window: null, stack });
    for (const attention of ['flash', 'unfused'] as const) {
      const decoder = of({ attention, decoderSequenceLength: 2048 }, 'decoder');
      const encoder = of({ attention, decoderSequenceLength: 2048 }, 'encoder');
      assert.ok(decoder(8, 4096, 0).forward > 1.2 * decoder(8, 512, 0).forward);
      assert.ok(decoder(8, 4096, 0).backward > 1.2 * decoder(8, 512, 0).backward);
      assert.deepEqual(encoder(8, 4096, 0), of({ attention, decoderSequenceLength: 16 }, 'encoder')(8, 4096, 0));
    }
  });

  it('holds on all stages together the parameters of the model, and copies of its embedding where the decoder begins and at a tied head', () => {
    const models = [t5(6, 6), bart(6, 6), whisper(6, 6), modelOf({ model_type: 'umt5', num_layers: 6, tie_word_embeddings: true })];
    for (const model of models) {
      const table = Math.ceil(model.vocab / 128) * 128 * model.hidden;
      const others = parameterCount(model) - (model.tiedEmbeddings ? 1 : 2) * model.vocab * model.hidden;
      const hears = model.stacks!.melBins !== undefined;
      // the source's embedding, except for sound; the target's on another stage; the head where it is not tied or on another stage than the
      // target's
      const starts = (pipeline: number) => (hears ? 0 : 1) + (pipeline > 1 || hears ? 1 : 0);
      for (const pipeline of [1, 2, 4]) {
        const wanted = asked(model, { pipeline }, { zeroStage: 0 });
        const stages = stagesOf(wanted);
        const heads = stages.at(-1)!.decoderStart === true ? 0 : 1;
        const held = stages.reduce((sum, shape) => sum + staticBytes(wanted, shape).weights / 2, 0);
        assert.equal(held, others + (starts(pipeline) + (model.tiedEmbeddings ? heads : 1)) * table, `${model.modelType} ${pipeline}`);
      }
    }
  });

  it("keeps in a decoder layer both attentions, and the encoder's output once for all layers of a stage", () => {
    const model = modelOf({ model_type: 'marian', d_model: 512, vocab_size: 1000, encoder_layers: 4, decoder_layers: 4, encoder_attention_heads: 8, decoder_attention_heads: 8, encoder_ffn_dim: 2048, decoder_ffn_dim: 2048 }); // prettier-ignore
    const inputs: MemoryInputs = asked(model, { pipeline: 4 });
    const [h, f, s, t] = [512, 2048, 2 * 512, 2 * 128];
    const [first, , third] = stagesOf({ ...asked(model, { pipeline: 4 }), layout: { ...inputs.layout, stageLayers: [2, 2, 2, 2] } });
    // input, residual, two norms' outputs, q k v, attention's output, log-sum-exp of 8 heads, both widths of the feed-forward
    const perToken = 2 * (4 * h + 3 * h + h + 2 * f) + 4 * 8;
    assert.equal(savedBytes(inputs, first!, unit, false).activations, 2 * s * perToken);
    const cross = t * (2 * (2 * h + 2 * h) + 4 * 8) + s * 2 * 2 * h;
    assert.equal(savedBytes(inputs, third!, unit, false).activations, 2 * (t * perToken + cross) + s * 2 * h);
  });

  it('still keeps what its layers share when the gradient of their input begins', () => {
    const wanted = asked(t5(4, 4), { pipeline: 8 });
    const { activations, backwardInput } = unitMemory(wanted, stagesOf(wanted)[5]!, unit, false, 1);
    assert.equal(backwardInput.activations, activations);
  });

  it('cuts each stack by itself, with more stages where there is more arithmetic', () => {
    assert.deepEqual(stackCut(t5(24, 24), lengths, 1), [48]);
    assert.deepEqual(stackCut(t5(24, 24), lengths, 2), [24, 24]);
    const cut = stackCut(t5(24, 24), lengths, 8);
    const ofEncoder = cut.findIndex((_, stage) => cut.slice(0, stage + 1).reduce((sum, layers) => sum + layers, 0) === 24) + 1;
    assert.ok(ofEncoder > 4 && cut.length === 8, cut.join());
    const even = stackCut(t5(24, 24), { sequenceLength: 512, decoderSequenceLength: 512 }, 8);
    assert.ok(even.slice(0, 4).reduce((sum, layers) => sum + layers, 0) >= 24, even.join());
    assert.equal(toText(stacksText(asked(t5(24, 24), { pipeline: 2 }))), 'encoder 24; decoder 24');
    assert.equal(
      toText(stacksText(asked(t5(4, 2), { pipeline: 4, stageLayers: [2, 1, 2, 1] }))),
      'encoder 2, 1; encoder 1 with decoder 1; decoder 1',
    );
  });

  it('sends the source inside the encoder and to the decoder, and from there on the target with it', () => {
    const wanted = asked(t5(6, 6), { tensor: 8, pipeline: 4, stageLayers: [3, 3, 3, 3] }, lengths);
    const pipeline = buildPipeline(wanted);
    const schedule = { name: '1F1B', units: [unit], stageOfChunk: Uint32Array.of(0, 1, 2, 3) } as unknown as Schedule;
    const { forwardMs, backwardMs, perChunk } = scheduleTransfers(pipeline, schedule);
    const [source, both] = [512, 512 + 128].map((tokens) => megatronBoundary(pipeline.inputs, 2, tokens));
    assert.equal(perChunk, true);
    assert.deepEqual([...forwardMs], [source, source, both, both]);
    assert.deepEqual([...backwardMs], [source, source, source, both]);
  });

  it('is planned only with whole sequences and one chunk a stage, and gives the reason', () => {
    const plan = makePlan(asked(t5(12, 12), { tensor: 2, pipeline: 4 }));
    assert.deepEqual(new Set(plan.candidates.map(({ id }) => id)), new Set(['1f1b', 'gpipe', 'ZB-H1', 'ZB-H2', 'ZeroBubble']));
    assert.ok(plan.reasons.some((reason) => toText(reason).startsWith('token slices and virtual stages')));
    const { scheme, tokensPerSecond, iterationMs } = chosenCandidate(plan);
    assert.ok(scheme.every(({ tokens }) => tokens.join() === '512'));
    assert.equal(tokensPerSecond, (16 * (512 + 128) * 1e3) / iterationMs);
  });

  it('is refused what cannot be timed or run, with what to change', () => {
    const refused = (layout: Partial<Layout>, more: Partial<PlanRequest> = {}): void => {
      assert.throws(() => makePlan({ ...asked(t5(12, 12), { pipeline: 2, ...layout }), ...more }), { code: 'plan-encoder-decoder' });
    };
    refused({ context: 2 });
    refused({ virtualStages: 2 });
    for (const schedule of ['TeraPipe', 'Seq1F1B', 'ZBVZeroBubble', 'Interleaved1F1B'] as const) refused({}, { schedule });
    refused({}, { slicing: { unit: null, scheme: [{ batch: 16, tokens: [256, 256] }] } });
    refused({}, { model: { ...t5(12, 12), layers: 12 } });
  });

  it('is divided over as many GPUs as the heads of both stacks', () => {
    assert.deepEqual(
      [8, 16].map((tensor) => splitsHeads(bart(2, 2), tensor)),
      [true, false],
    );
  });

  it('is not profiled, as its layers are not all alike', () => {
    assert.notEqual(unlikeOneLayer(t5(12, 12)), null);
  });

  it('is reported of either length that is longer than its positions', async () => {
    const whisperTiny = { model_type: 'whisper', max_source_positions: 1500, max_target_positions: 448 };
    const codes = async (config: object, training: object): Promise<(string | undefined)[]> => {
      const run = await load({
        'terapipe.json': JSON.stringify({ model: 'config.json', training }),
        'config.json': JSON.stringify(config),
      });
      return runFindings(run, null)
        .filter(({ code }) => code === 'sequence-positions')
        .map(({ remedy }) => say(remedy))
        .sort();
    };
    assert.deepEqual(await codes(whisperTiny, { sequenceLength: 1500, decoderSequenceLength: 448 }), []);
    assert.deepEqual(await codes(whisperTiny, { sequenceLength: 1600, decoderSequenceLength: 512 }), [
      'set training.decoderSequenceLength to 448 or less',
      'set training.sequenceLength to 1,500 or less',
    ]);
    assert.deepEqual(await codes({ model_type: 't5' }, { sequenceLength: 8192, decoderSequenceLength: 8192 }), []);
  });

  it('is searched: every layout that is found cuts the stacks apart, on whole sequences', () => {
    const fixed = new Set(searchKeys.filter((key) => !['tensor', 'data', 'schedule', 'microBatch'].includes(key)));
    const wanted = asked(t5(12, 6), { tensor: 2, pipeline: 4 });
    const { best, paretoFront, perSchedule } = searchLayouts({ request: wanted, fixed });
    for (const { point } of [best, ...paretoFront, ...perSchedule]) {
      let before = 0;
      const ends = point.stageLayers.map((layers) => (before += layers));
      assert.ok(ends.length === 4 && ends.includes(12), ends.join());
    }
    assert.ok(perSchedule.every(({ scheme }) => scheme.every(({ tokens }) => tokens.length === 1)));
  });

  it('takes longer and more memory the longer either sequence is', () => {
    const of = (training: Partial<TrainingSpec>): Plan =>
      makePlan({
        ...asked(
          bart(12, 12),
          { pipeline: 4, stageLayers: [6, 6, 6, 6] },
          { microBatch: 8, globalBatch: 64, sequenceLength: 2048, decoderSequenceLength: 2048, ...training },
        ),
        schedule: '1F1B',
      });
    const peak = (plan: Plan) => Math.max(...chosenCandidate(plan).memory.stages.map(({ peakBytes }) => peakBytes));
    const least = of({});
    for (const more of [of({ sequenceLength: 4096 }), of({ decoderSequenceLength: 4096 })]) {
      assert.ok(chosenCandidate(more).iterationMs > chosenCandidate(least).iterationMs);
      assert.ok(peak(more) > peak(least));
    }
  });
});
