import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { bestFirst } from '../../../../src/core/layout-search/search';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import { refusedSizes, refusedTensor } from '../../../../src/core/layout-search/refused-sizes';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { runFindings } from '../../../../src/core/rules/run-findings';
import type { Run } from '../../../../src/core/run/run';
import { load } from '../config-files/files';
import { toText } from '../../sentence-text';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;
const models = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../../witness/parsers/models.json'), 'utf8')) as Readonly<
  Record<string, object>
>;

/** A model of Hugging Face with this layout on nodes of 8 GPUs. */
function laidOut(model: string, layout: object, nodes = 2): Promise<Run> {
  return load({
    'terapipe.json': JSON.stringify({ model: 'config.json', cluster: { gpu: 'H100-80GB', nodes, gpusPerNode: 8 }, layout }),
    'config.json': JSON.stringify(models[model]),
  });
}

/** The rules of sizes that do not divide what they share. */
const codes = ['heads-tp', 'kv-heads-tp', 'width-tensor', 'experts-not-divisible', 'expert-world-factor'];
/** Of Megatron Core's biases, which a run that names no runtime may not have. */
const biases = 'expert-bias';

describe('sizes of a layout that no launcher starts', () => {
  it('are those that the findings of a plan call errors, of every model and size', async () => {
    let refused = 0;
    let biased = 0;
    for (const model of Object.keys(models))
      for (const tensor of [1, 2, 4, 8])
        for (const expert of /mixtral|deepseek|a3b|oss/.test(model) ? [1, 2, 8, 48] : [1]) {
          const layout = { tensor, pipeline: 2, data: 4, ...(expert === 1 ? {} : { expert, expertTensor: 1 }) };
          const run = await laidOut(model, layout);
          const errors = runFindings(run, null).filter(
            ({ code, severity }) => code === biases || (codes.includes(code) && severity === 'error'),
          );
          const why = refusedSizes(resolveRun(run, defaults), { ...layout, context: 1, expert });
          biased += Number(errors.some(({ code }) => code === biases));
          const found = errors.map(({ message }) => toText(message)).join();
          assert.equal(why !== null, errors.length > 0, `${model} ${JSON.stringify(layout)}: ${found}`);
          refused += Number(why !== null);
        }
    assert.ok(refused >= 10, `${refused} were refused`);
    assert.ok(biased >= 1, 'gpt-oss at tensor 2 is refused');
  });

  it('divide experts without biases, though the attention of the model has them', async () => {
    const layout = { tensor: 2, pipeline: 1, data: 4, expertTensor: 2 };
    const biased = async (config: object): Promise<readonly [isError: boolean, isRefused: boolean]> => {
      const run = await load({
        'terapipe.json': JSON.stringify({
          model: 'config.json',
          cluster: { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 },
          layout,
          training: { runtime: 'megatron' },
        }),
        'config.json': JSON.stringify(config),
      });
      const isError = runFindings(run, null).some(({ code }) => code === biases);
      return [isError, refusedSizes(resolveRun(run, defaults), { ...layout, context: 1, expert: 1 }) !== null];
    };
    const { 'qwen3-30b-a3b': qwen, 'gpt-oss-20b': oss } = models;
    assert.ok(qwen && oss, Object.keys(models).join());
    assert.deepEqual(await biased({ ...qwen, attention_bias: true }), [false, false]);
    assert.deepEqual(await biased(oss), [true, true]);
  });

  it('leave a search nothing where a file fixes them', async () => {
    const run = await laidOut('gpt2-xl', { tensor: 2 });
    assert.throws(
      () => bestFirst(toSearchProblem(run, resolveRun(run, defaults)), { bestOnly: true }),
      /25 attention heads are not divisible by a tensor size of 2/,
    );
  });

  it("are refused in searches of nanotron's files, which check them too", async () => {
    const file = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/nanotron.yaml'), 'utf8');
    const run = await load({
      'nanotron.yaml': file.replace('num_attention_heads: 20', 'num_attention_heads: 30').replace('hidden_size: 2560', 'hidden_size: 3840'),
    });
    const why = refusedTensor(resolveRun(run, defaults), 4);
    assert.equal(why === null ? '' : toText(why), '30 attention heads are not divisible by a tensor size of 4');
  });

  it('name the GPUs of a stage that experts do not fit on', async () => {
    const layout = { tensor: 1, pipeline: 4, data: 2, expert: 8, expertTensor: 1 };
    const request = resolveRun(await laidOut('mixtral-8x7b', layout, 1), defaults);
    const why = refusedSizes(request, { ...layout, context: 1 });
    assert.equal(why === null ? '' : toText(why), 'expert 8 x expert tensor 1 does not divide the 2 GPUs of a stage');
  });

  it('leave a run that overlaps the exchange of experts what Megatron-LM overlaps', async () => {
    const run = await load({
      'terapipe.json': JSON.stringify({
        model: 'config.json',
        cluster: { gpu: 'H100-80GB', nodes: 8, gpusPerNode: 8 },
        training: { overlapExpertComm: true },
      }),
      'config.json': JSON.stringify(models['mixtral-8x7b']),
    });
    const groups = [...candidateGroups(toSearchProblem(run, resolveRun(run, defaults)))];
    const refused = groups.filter(
      ({ layout, training, schedule }) =>
        layout.expert === 1 ||
        training.recompute === 'full' ||
        training.recomputeModules?.includes('moe') === true ||
        (layout.pipeline > 1 && scheduleOn(schedule, layout).chunks === 1),
    );
    assert.ok(groups.length > 100);
    assert.deepEqual(refused, []);
  });
});
