import assert from 'node:assert/strict';
import fc from 'fast-check';
import { scheduleOn } from '../../../../../src/core/schedules/on-layout';
import { ExpectedError } from '../../../../../src/core/errors';
import type { SliceExport } from '../../../../../src/core/export/slices/slice-export';
import { readDpResults, schemeOfEntry } from '../../../../../src/core/export/slices/dp-results/entries';
import { estimatedPeakGiB } from '../../../../../src/core/export/slices/dp-results/peak-memory';
import { sliceExports } from '../../../../../src/core/export/slices/registry';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import { sliceRuntimes } from '../../../../../src/core/slice-runtimes/registry';
import { loadConfig } from '../../../../../src/core/config-files/load-config';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { measure } from '../../../../../src/core/planner/predict/predict';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import { listedSlices } from '../../../../../src/core/export/slices/runs';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../../src/core/sentence';
import type { ModelSpec } from '../../../../../src/core/domain/model';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { loadRun } from '../../../../load-run';
import { cases } from '../../../../property/cases';
import { shellReader } from '../../launchers/shell/shell-reader';
import { restatedSplits } from './restated-splits';
import { toText } from '../../../sentence-text';

const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;

interface Settings {
  readonly schedule: 'TeraPipe' | 'Seq1F1B';
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
  readonly microBatch: number;
  readonly microBatches: number;
  readonly layersPerStage: number;
  readonly heads: number;
  readonly units: number;
  readonly title?: string;
  readonly more?: object;
  readonly training?: object;
}

const usual: Settings = {
  schedule: 'TeraPipe',
  tensor: 2,
  pipeline: 4,
  data: 1,
  microBatch: 1,
  microBatches: 4,
  layersPerStage: 2,
  heads: 8,
  units: 8,
};

async function requestOf(given: Settings): Promise<PlanRequest> {
  const { schedule, tensor, pipeline, data, microBatch, microBatches, layersPerStage, heads, units, more = {}, training = {} } = given;
  const config = {
    model: {
      layers: layersPerStage * pipeline,
      hidden: heads * 128,
      heads,
      kvHeads: heads,
      ffn: 512 * heads,
      gatedMlp: false,
      vocab: 32000,
      maxPositions: units * 512,
      tiedEmbeddings: false,
      ...more,
    },
    cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: tensor * pipeline * data },
    training: {
      sequenceLength: units * 512,
      microBatch,
      globalBatch: microBatch * microBatches * data,
      precision: 'bf16',
      recompute: 'none',
      sequenceParallel: tensor > 1,
      ...training,
    },
    layout: { tensor, pipeline, data },
    schedule,
  };
  const run = await loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
  return { ...resolveRun(run, defaults), title: given.title ?? 'orchard' };
}

describe('slices in files of runtimes', () => {
  let read: LauncherReader;
  const shell = (): Promise<LauncherReader> => Promise.resolve(read);
  const of = (id: string): SliceExport => sliceExports.find((each) => each.id === id)!;

  before(async () => {
    read = await shellReader();
  });

  /** The slices of a script as if it had been opened, predicted. */
  async function replanned(text: string): Promise<{ readonly request: PlanRequest; readonly iterationMs: number }> {
    const missing = (): Promise<never> => Promise.reject(new ExpectedError('config-unreadable', sentence`missing`, sentence`none`));
    const { run, findings } = await loadConfig('train.sh', text, { read: missing, shell });
    assert.deepEqual(findings.filter(({ severity }) => severity === 'error').map(({ message }) => say(message)), []); // prettier-ignore
    const request = resolveRun(run!, defaults);
    const spec = {
      id: 'given',
      name: 'again',
      kind: scheduleOn(request.schedule ?? '1F1B', request.layout),
      scheme: request.slicing.scheme ?? [],
      certificate: null,
    } as const;
    return { request, iterationMs: measure(buildPipeline(request), spec).iterationMs };
  }

  /** The lengths that the runtime would run, from the text of a file without our readers. */
  function restated(text: string, id: string, { model, training, layout }: PlanRequest): readonly number[] {
    const runtime = sliceRuntimes.find((each) => each.id === id)!;
    const flag = (name: string | undefined): string | null => new RegExp(`^ +--${name ?? ''} (\\S+)`, 'm').exec(text)?.[1] ?? null;
    const rule = runtime.rule === null ? 'average' : flag(runtime.rule.flag);
    const list = runtime.lengths !== null && rule === runtime.lengths.word ? flag(runtime.lengths.flag) : null;
    return restatedSplits({
      tokens: training.sequenceLength,
      splits: Number(flag(runtime.splits.flag)),
      rule: rule ?? 'average',
      list,
      multiple: training.sequenceParallel ? layout.tensor : 1,
      model,
      vocab: Math.ceil(model.vocab / (128 * layout.tensor)) * 128 * layout.tensor,
    });
  }

  it('are read back to the same plan, by our readers and by the rule of the runtime, and the header predicts it', async () => {
    const anySettings: fc.Arbitrary<Settings> = fc.record({
      schedule: fc.constantFrom('TeraPipe', 'Seq1F1B'),
      tensor: fc.constantFrom(1, 2),
      pipeline: fc.integer({ min: 2, max: 4 }),
      data: fc.constantFrom(1, 2),
      microBatch: fc.constantFrom(1, 2),
      microBatches: fc.integer({ min: 1, max: 6 }),
      layersPerStage: fc.integer({ min: 1, max: 3 }),
      heads: fc.constantFrom(4, 8, 16),
      units: fc.integer({ min: 3, max: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(anySettings, async (given) => {
        const plan = makePlan(await requestOf(given));
        for (const { id, write } of sliceExports) {
          if (id === 'mindspeed') continue;
          const { text, runs } = await write(plan, shell);
          const ran = chosenCandidate(runs);
          if (id === 'dp-results') {
            const [entry] = readDpResults(text);
            assert.deepEqual(schemeOfEntry(entry!), ran.scheme);
            assert.equal(entry?.latency, ran.iterationMs / 1e3);
            continue;
          }
          const { request, iterationMs } = await replanned(text);
          assert.deepEqual(request.slicing.scheme, ran.scheme, id);
          assert.equal(request.schedule, ran.schedule);
          assert.deepEqual(request.layout, { ...runs.request.layout, expertTensor: request.layout.expertTensor });
          assert.ok(
            Math.abs(iterationMs - ran.iterationMs) <= 1e-9 * ran.iterationMs,
            `${id}: ${iterationMs} ms, predicted ${ran.iterationMs}`,
          );
          assert.deepEqual(restated(text, id, runs.request), ran.scheme[0]?.tokens, id);
          assert.ok(text.includes(`# Predicted: `), 'a header predicts');
        }
      }),
      { numRuns: cases(2, 60), seed: 19 },
    );
  });

  it('are the plan itself where the runtime can be set to it, else the best that it can, which is reported', async () => {
    const request = await requestOf({ ...usual, schedule: 'Seq1F1B' });
    const asked = (tokens: readonly number[]): Plan =>
      makePlan({ ...request, slicing: { unit: null, scheme: Array.from({ length: 4 }, () => ({ batch: 1, tokens })) } });
    const plan = asked([1536, 1280, 1280]);
    const listed = await of('seq1f1b-core').write(plan, shell);
    assert.deepEqual(chosenCandidate(listed.runs).scheme, chosenCandidate(plan).scheme);
    assert.ok(!listed.gaps.some(({ what }) => toText(what).startsWith("the plan's")));
    assert.match(listed.text, /^ {2}--seq1f1b-fix-splits 1536,1280,1280$/m);
    const manual = await of('seq1f1b-manual').write(plan, shell);
    assert.deepEqual(chosenCandidate(manual.runs).scheme, chosenCandidate(plan).scheme);
    assert.match(manual.text, /^ {2}--pipe-sp-splits 3\n {2}--pipe-sp-strategy manual\n {2}--pipe-sp-manual-splits 1536,1280,1280$/m);
    const odd = await of('seq1f1b-manual').write(asked([1500, 1300, 1296]), shell);
    assert.ok(chosenCandidate(odd.runs).scheme[0]?.tokens.every((tokens) => tokens % 128 === 0));
    assert.match(odd.text, /zwx119\/Seq1F1B stops at these slices, because the length 1,500 is not a multiple of 128; this file runs /);
    const { gaps, runs } = await of('zero-bubble').write(plan, shell);
    const fallback = chosenCandidate(runs);
    assert.equal(new Set(fallback.scheme[0]?.tokens).size, 1, 'only equal slices');
    const reason = gaps.find(({ what }) => toText(what) === `the plan's ${toText(chosenCandidate(plan).name)}`)?.reason ?? '';
    assert.match(
      toText(reason),
      /^sail-sg\/zero-bubble cuts sequences into equal slices; this file runs Seq1F1B, \d+ equal slices instead, .* per step, the plan .* (?:slower|faster)\)$/,
    );
    for (const other of [2, 4, 8]) {
      const equal = chosenCandidate(asked(Array.from({ length: other }, () => 4096 / other)));
      assert.ok(fallback.iterationMs <= equal.iterationMs * (1 + 2e-3), `${other} equal slices are no faster`);
    }
  });

  it('keep micro-batches of one sequence for MindSpeed-LLM, and one scheme for TeraPipe', async () => {
    const plan = makePlan(await requestOf({ ...usual, microBatch: 2 }));
    const long = makePlan(await requestOf({ ...usual, schedule: 'Seq1F1B', microBatch: 2, heads: 32, units: 64 }));
    assert.equal(chosenCandidate(listedSlices(long, 'mindspeed').runs).scheme[0]?.batch, 1);
    const mixed = makePlan({
      ...plan.request,
      slicing: {
        unit: null,
        scheme: [
          { batch: 3, tokens: [4096] },
          { batch: 5, tokens: [2048, 2048] },
        ],
      },
    });
    const { runs, gaps } = await of('dp-results').write(mixed, shell);
    assert.equal(new Set(chosenCandidate(runs).scheme.map(({ tokens }) => tokens.join())).size, 1);
    assert.match(
      gaps.map(({ reason }) => toText(reason)).join(),
      /cuts all chunks alike, in one round; this file runs TeraPipe, one scheme of/,
    );
  });

  it('are refused where the runtime runs no such plan', async () => {
    const refusal = async (
      id: string,
      given: Partial<Settings>,
      change: (request: PlanRequest) => PlanRequest = (same) => same,
    ): Promise<string> => {
      const plan = makePlan(change(await requestOf({ ...usual, ...given })));
      return of(id)
        .write(plan, shell)
        .then(
          () => 'written',
          (error: unknown) => (error instanceof ExpectedError ? `${error.code}: ${say(error.what)}` : String(error)),
        );
    };
    assert.match(await refusal('hcu-megatron', { training: { recompute: 'full' } }), /export-slices: hcu-megatron .*recomputes/);
    const halves = Array.from({ length: 4 }, () => ({ batch: 1, tokens: [2048, 2048] }));
    const unfused = { training: { attention: 'unfused' } };
    for (const id of ['seq1f1b', 'seq1f1b-manual', 'hcu-megatron', 'zero-bubble'])
      assert.match(await refusal(id, unfused), /its attention is unfused, and slices need FlashAttention/, id);
    for (const id of ['seq1f1b-core', 'chunked-pipeline']) assert.equal(await refusal(id, unfused), 'written', id);
    assert.match(
      await refusal('mindspeed', { schedule: 'Seq1F1B' }, (request) => ({ ...request, slicing: { unit: null, scheme: halves } })),
      /run on Ascend NPUs, started by msrun, and this plan is for A100-80GB; they gain from 4,096 tokens a slice, and the shortest here has 2,048$/,
    );
    assert.match(
      await refusal('seq1f1b', { more: { gatedMlp: true } }),
      /its gated feed-forward is 4,096 wide, and this runtime makes any of this hidden size 2,688 wide \(megatron\/arguments.py 260\)/,
    );
    assert.match(await refusal('zero-bubble', { more: { tiedEmbeddings: true } }), /it ties embedding and head/);
    assert.match(await refusal('seq1f1b-core', { training: { recompute: 'selective' } }), /it recomputes the attention core/);
    assert.match(await refusal('dp-results', { more: { gatedMlp: true } }), /export-slices: TeraPipe's own runtime .*feed-forward/);
    assert.match(await refusal('dp-results', { more: { kvHeads: 2 } }), /heads share keys and values/);
    assert.match(await refusal('seq1f1b', { more: { qkNorm: true, kvHeads: 4 } }), /stops at or ignores --qk-layernorm$/);
    const refusedModel = (own: Partial<ModelSpec>): Promise<string> =>
      refusal('seq1f1b-core', {}, (request) => ({ ...request, model: { ...request.model, positions: 'rotary', ...own } }));
    assert.match(await refusedModel({ details: { noRopeLayers: [1] } }), /stops at or ignores --no-rope-freq$/);
    assert.match(
      await refusedModel({ rotary: { scaling: { kind: 'yarn', factor: 4 } } }),
      /stops at or ignores --position-embedding-type yarn/,
    );
    assert.equal(await refusal('seq1f1b', {}), 'written');
  });

  it('of a file with a hostile title stay a script of remarks and flags, and a JSON of plain names', async () => {
    const title = 'a"; rm -rf $HOME; `id`\n--evil 1 \u202e$(touch x)';
    const plan = makePlan(await requestOf({ ...usual, title }));
    const { text } = await of('seq1f1b').write(plan, shell);
    for (const line of text.split('\n')) assert.ok(!/\brm\b|touch|evil/.test(line) || /^#(?: |SBATCH --job-name=[\w-]+$)/.test(line), line);
    assert.match(text, /^#SBATCH --job-name=[\w-]+$/m);
    const { text: json } = await of('dp-results').write(plan, shell);
    assert.match(readDpResults(json)[0]?.model_name ?? '', /^[a-z0-9.-]+$/);
  });
});

describe("TeraPipe's estimate of memory", () => {
  it('is its own, which skips what it puts above 14 GiB', () => {
    // ran with its memory_model.py
    const golden: readonly (readonly [number, number, number, number, number, number, number])[] = [
      [2, 2048, 12288, 96, 4, 1, 7.8057],
      [2, 2048, 12288, 96, 8, 2, 8.1813],
      [32, 2048, 5120, 40, 8, 1, 8.7162],
      [16, 2048, 2048, 16, 1, 1, 8.5316],
      [8, 2048, 6144, 48, 8, 2, 6.0243],
      [2, 8192, 5120, 40, 8, 1, 5.3763],
    ];
    for (const [batch, tokens, hidden, heads, tensor, layers, expected] of golden)
      assert.equal(estimatedPeakGiB({ batch, tokens, hidden, heads, tensor, layers }).toFixed(4), expected.toFixed(4));
  });

  it('goes with files that are its own, and no others', () => {
    for (const text of ['', '{}', '[{"model_name": "a"}]', '[{"batch_slices": [], "input_slices": []}]'])
      assert.throws(() => readDpResults(text), { code: 'dp-results-invalid' });
  });
});
