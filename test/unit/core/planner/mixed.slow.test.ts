import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import { clusterText, groupAt } from '../../../../src/core/cluster/groups';
import { comparePlans } from '../../../../src/features/compare/core/plans';
import { linearPeak } from '../../../../src/core/time-model/rates';
import { megatronBoundary, terapipeBoundary } from '../../../../src/core/time-model/boundary';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { ExpectedError } from '../../../../src/core/errors';
import { resolveElastic } from '../../../../src/features/elastic/core/resolve';
import { toLaunchSettings } from '../../../../src/core/export/launchers/launch-settings';
import { planHtml } from '../../../../src/core/export/html/report';
import { stagesJson } from '../../../../src/core/export/plan-json';
import { modelFlopsPerSequence } from '../../../../src/core/model/parameters';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { placeStages } from '../../../../src/core/partition/place-stages';
import { chosenCandidate, type Candidate } from '../../../../src/core/planner/plan';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { predict } from '../../../../src/core/planner/predict/predict';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import { gpt, llama3, request } from '../../../golden/requests';
import { group, hopperAndAmpere, llama70b, onGroups, resolved, runOf, small } from './mixed';
import { say } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;

function measured(wanted: PlanRequest, schedule: '1F1B' | 'TeraPipe' = '1F1B'): Candidate {
  const { training, layout } = wanted;
  const count = training.globalBatch / layout.data / training.microBatch;
  const scheme = Array.from({ length: count }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  return predict(buildPipeline(wanted), { id: 'given', name: 'given', kind: scheduleOn(schedule, layout), scheme, certificate: null });
}

async function refusal(config: object): Promise<string> {
  try {
    await resolved(config);
  } catch (error) {
    if (error instanceof ExpectedError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'none';
}

describe('stages on groups of nodes', () => {
  it('are planned as on the plain cluster where all groups are of one kind', async () => {
    const config = (cluster: object) => ({ model: llama70b, cluster, training: { globalBatch: 96 }, slicing: { unit: 512 } });
    const groups = [
      { gpu: 'A100-80GB', nodes: 2 },
      { gpu: 'A100-80GB', nodes: 4, gpusPerNode: 8 },
    ];
    const [joined, plain] = await Promise.all([
      resolved({ ...config({ groups }), layout: { stageNodeGroups: [0, 1] } }),
      resolved(config({ gpu: 'A100-80GB', nodes: 6, gpusPerNode: 8 })),
    ]);
    assert.deepEqual(joined, plain);
    assert.deepEqual(makePlan(joined), makePlan(plain));
  });

  it('take a cut and an order by themselves: more layers where the GPU is faster, all within memory', async () => {
    const wanted = await resolved({
      model: llama70b,
      cluster: hopperAndAmpere,
      training: { sequenceLength: 4096, globalBatch: 128 },
      slicing: { unit: 512 },
    });
    const { stageNodeGroups = [], stageLayers = [], tensor, pipeline, data } = wanted.layout;
    assert.equal(tensor * pipeline * data, 48);
    assert.equal(stageNodeGroups.filter((own) => own === 0).length * tensor * data, 16);
    const layersOf = (own: number) => stageLayers.filter((_, stage) => stageNodeGroups[stage] === own);
    assert.ok(Math.min(...layersOf(0)) > Math.max(...layersOf(1)));
    const chosen = chosenCandidate(makePlan(wanted));
    assert.ok(chosen.fits);
    const names = chosen.memory.stages.map(({ gpu }) => gpu);
    assert.deepEqual(
      names,
      stageNodeGroups.map((own) => groupAt(wanted.cluster.groups!, own).gpu.name),
    );
    assert.deepEqual(
      stagesJson(chosen.memory).map(({ capacityBytes }) => capacityBytes),
      stageNodeGroups.map((own) => groupAt(wanted.cluster.groups!, own).gpu.memoryBytes),
    );
    for (const key of ['layout.stageNodeGroups', 'layout.stageLayers'])
      assert.ok(
        wanted.assumptions.some((one) => one.key === key),
        key,
      );
  });

  it('have the fastest slowest stage of all cuts, as simulated', () => {
    const base = request(
      'A100-80GB',
      { ...gpt(7, 2048, 16, 50304), maxPositions: 2048 },
      {
        training: { globalBatch: 8, sequenceLength: 2048 },
        layout: { pipeline: 3 },
      },
    );
    const groups = [group('H100-80GB', 1, { gpusPerNode: 1 }), group('V100-32GB', 1, { gpusPerNode: 2 })] as const;
    const wanted = onGroups(base, groups, [1, 0, 1]);
    const { layout } = placeStages({ inputs: wanted, schedule: '1F1B' });
    const slowest = (stageLayers: readonly number[]): number =>
      Math.max(...measured({ ...wanted, layout: { ...layout, stageLayers } }).busyMs);
    const best = slowest(layout.stageLayers!);
    for (let first = 0; first <= 6; first++)
      for (let middle = 1; middle <= 7 - first; middle++)
        assert.ok(slowest([first, middle, 7 - first - middle]) >= best * (1 - 1e-12), `${first}, ${middle}`);
  });

  it('take the order of the groups with the shortest step', async () => {
    const config = (layout: object) => ({
      model: { ...small, vocab: 50304 },
      cluster: { groups: [{ gpu: 'A100-40GB', nodes: 1, gpusPerNode: 2 }, { gpu: 'V100-16GB', nodes: 1, gpusPerNode: 2 }, { gpu: 'L40S', nodes: 1, gpusPerNode: 2 }] }, // prettier-ignore
      training: { sequenceLength: 1024, globalBatch: 12, precision: 'fp16' },
      layout: { tensor: 1, data: 1, ...layout },
    });
    const place = (wanted: PlanRequest) => placeStages({ inputs: wanted, schedule: null }).stepMs;
    const best = await resolved(config({}));
    const steps = [];
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ])
      // prettier-ignore
      steps.push(place(await resolved(config({ stageNodeGroups: order.flatMap((own) => [own, own]) }))));
    assert.equal(place(best), Math.min(...steps));
    assert.ok(Math.max(...steps) > Math.min(...steps));
  });

  it('keep what the file fixes, and leave GPUs idle where it is set so', async () => {
    const config = {
      model: small,
      cluster: hopperAndAmpere,
      layout: { tensor: 2, data: 4, stageNodeGroups: [1, 0, 1], stageLayers: [3, 6, 3] },
    };
    const { layout } = await resolved(config);
    assert.deepEqual([layout.stageNodeGroups, layout.stageLayers, layout.pipeline], [[1, 0, 1], [3, 6, 3], 3]);
  });

  it('are refused where the groups make no whole stages, or a file names stages that do not fit', async () => {
    const config = (layout: object) => ({ model: small, cluster: hopperAndAmpere, layout });
    assert.match(
      await refusal(config({ tensor: 8, data: 4 })),
      /^layout-groups: 2 nodes of 8 H100-80GB \+ 4 nodes of 8 A100-80GB cannot be split into whole stages/,
    );
    assert.match(await refusal(config({ tensor: 8, data: 1, pipeline: 4 })), /^layout-groups: .* make 6 stages of 8 GPUs, not 4/);
    assert.match(await refusal(config({ stageNodeGroups: [0, 2] })), /^layout-groups: layout.stageNodeGroups names group 2/);
    assert.match(
      await refusal(config({ stageNodeGroups: [0, 1], pipeline: 3 })),
      /^layout-groups: layout.stageNodeGroups has 2 entries for 3 stages/,
    );
    assert.match(await refusal(config({ tensor: 8, data: 4, stageNodeGroups: [0, 1] })), /^layout-groups: /);
  });

  it('are not planned from times of one kind of GPU', async () => {
    const config = { model: small, cluster: hopperAndAmpere };
    assert.match(await refusal({ ...config, calibration: { iterationMs: 900 } }), /^cluster-groups-measured: calibration.iterationMs/);
    const table = { tokens: [64, 128], contexts: [0, 64], forwardMs: [[1, 1], [2, 2]], backwardMs: [[2, 2], [4, 4]] }; // prettier-ignore
    assert.match(await refusal({ ...config, cost: { table } }), /^cluster-groups-measured: cost.table/);
  });

  it('are neither searched, nor handed to a launcher, nor frozen', async () => {
    const run = await runOf({ model: { ...llama70b, layers: 16 }, cluster: hopperAndAmpere, training: { globalBatch: 48 } });
    const wanted = await resolved({ model: { ...llama70b, layers: 16 }, cluster: hopperAndAmpere, training: { globalBatch: 48 } });
    assert.throws(() => searchLayouts(toSearchProblem(run, wanted)), { code: 'search-groups' });
    assert.throws(() => toLaunchSettings(makePlan(wanted)), { code: 'export-groups' });
    assert.throws(() => resolveElastic(run, defaults, null), { code: 'elastic-groups' });
  });
});

describe('the text on stages on groups of nodes', () => {
  it('names the GPU and the stage that lack memory', async () => {
    const run = await runOf({
      model: { ...llama70b, layers: 24 },
      cluster: { groups: [{ gpu: 'H200', nodes: 1 }, { gpu: 'RTX4090', nodes: 1 }] }, // prettier-ignore
      training: { globalBatch: 8 },
      layout: { tensor: 8, data: 1, stageNodeGroups: [0, 1], stageLayers: [1, 23] },
      schedule: '1F1B',
    });
    const [finding] = runFindings(run, makePlan(resolveRun(run, defaults))).filter(({ code }) => code === 'memory-over-capacity');
    assert.match(say(finding!.message), /^Stage 1 of 2, on RTX4090, needs .* does not fit, .* over$/);
    assert.deepEqual(
      finding!.fixes.filter(({ title }) => say(title).includes('cluster')),
      [],
    );
  });

  it('does not ask for layers that the stages divide', async () => {
    const run = await runOf({ model: small, cluster: hopperAndAmpere, layout: { tensor: 4, data: 1, pipeline: 12 } });
    assert.deepEqual(runFindings(run, null), []);
    const seven = await runOf({ model: { ...small, layers: 13 }, cluster: hopperAndAmpere, layout: { tensor: 4, data: 1, pipeline: 12 } });
    assert.deepEqual(runFindings(seven, null), []);
  });

  it('reports what each group would take by itself', async () => {
    const wanted = await resolved({
      model: { ...llama70b, layers: 40 },
      cluster: hopperAndAmpere,
      training: { globalBatch: 96 },
      slicing: { unit: 512 },
    });
    const line = makePlan(wanted).reasons.find((reason) => toText(reason).includes(' only: '));
    const [, hopper, ampere] = /^2 nodes of 8 H100-80GB only: ([\d.]+)x the time; 4 nodes of 8 A100-80GB only: ([\d.]+)x/.exec(toText(line)) ?? []; // prettier-ignore
    assert.ok(Number(hopper) > 1 && Number(ampere) > Number(hopper), toText(line));
  });

  it('compares groups with a plain cluster by what the clusters are, and two lists of groups by their figures', async () => {
    const plan = async (cluster: object) =>
      makePlan(
        await resolved({
          model: small,
          cluster,
          training: { globalBatch: 48, sequenceLength: 512 },
          slicing: { unit: 128 },
          schedule: '1F1B',
        }),
      );
    const asked = (a: Awaited<ReturnType<typeof plan>>, b: typeof a) =>
      comparePlans(a, b, { a: 'a', b: 'b' }).requestDiff.filter(({ key }) => key.startsWith('cluster'));
    const mixed = await plan(hopperAndAmpere);
    const plain = await plan({ gpu: 'A100-80GB', nodes: 6 });
    assert.deepEqual(asked(plain, mixed), [{ key: 'cluster.gpu', a: 'A100-80GB', b: '2 nodes of 8 H100-80GB + 4 nodes of 8 A100-80GB' }]);
    const [hopper, ampere] = hopperAndAmpere.groups;
    const slower = await plan({ groups: [{ ...hopper, gpu: { preset: 'H100-80GB', gemmEfficiency: 0.6 } }, ampere] });
    assert.deepEqual(asked(mixed, slower), [
      { key: 'cluster.groups[0].gpu.gemmEfficiency', a: String(gpuPresets['H100-80GB'].gpu.gemmEfficiency), b: '0.6' },
    ]);
  });

  it('shows cards of different sizes in the page to send around', () => {
    const base = request('A100-80GB', gpt(6, 1024, 16, 0), { training: { globalBatch: 4, sequenceLength: 1024 }, layout: { pipeline: 2 } });
    const html = planHtml(makePlan(onGroups(base, [group('H200', 1), group('L40S', 1)], [0, 1], [4, 2])), []);
    assert.match(html, /<th scope="row">0, H200<\/th><td class="bar"><div>/);
    assert.match(html, /<th scope="row">1, L40S<\/th><td class="bar"><div style="width:32\.\d+%">/);
    assert.match(html, /on 8 H200 \+ 8 L40S/);
    assert.match(html, /H200 on stage 0, L40S on stage 1/);
  });
});

describe('times on groups of nodes', () => {
  const base = request(
    'A100-80GB',
    { ...llama3('70b', 8), layers: 12, vocab: 0 },
    {
      training: { globalBatch: 16, sequenceLength: 2048, attention: 'flash', precision: 'bf16' },
      layout: { tensor: 4, data: 2 },
    },
  );
  const groups = [group('H100-80GB', 1), group('A100-80GB', 2)] as const;
  const wanted = onGroups(base, groups, [1, 0, 1], [3, 6, 3]);

  it('are those of each stage on the plain cluster of its group', () => {
    const { busyMs } = measured(wanted);
    [1, 0, 1].forEach((own, stage) => {
      const layers = [3, 6, 3][stage]!;
      const cost = stageCost({ ...base, cluster: groups[own]! }, layers, { first: stage === 0, last: stage === 2 });
      const { forwardMs, backwardMs } = cost(1, 2048, 0);
      assert.ok(Math.abs(busyMs[stage]! / (8 * (forwardMs + backwardMs)) - 1) < 1e-9, String(stage));
    });
  });

  it('send at the rate of the slower network, and inside a node only where both stages are in it', () => {
    const { stages } = buildPipeline(onGroups(base, [group('H100-80GB', 1), group('V100-32GB', 2)], [0, 1, 1]));
    const [hopper, volta, again] = stages.map(({ inputs }) => inputs);
    assert.equal(volta, again);
    const slow = terapipeBoundary(volta!, 1, 2048);
    assert.equal(terapipeBoundary(hopper!, 1, 2048, { to: volta! }), slow);
    assert.ok(Math.abs(terapipeBoundary(volta!, 1, 2048, { to: hopper! }) / slow - 1) < 0.01, 'except for the broadcast in the node');
    assert.ok(terapipeBoundary(hopper!, 1, 2048) < slow / 10);
    assert.ok(megatronBoundary(hopper!, 1, 2048, { to: volta! }) > megatronBoundary(hopper!, 1, 2048));
  });

  it('are of one micro-batch all stages and all sends, each over its own boundary', () => {
    for (const [schedule, runtime, boundary] of [
      ['1F1B', 'megatron', megatronBoundary],
      ['TeraPipe', 'megatron', megatronBoundary],
      ['TeraPipe', 'terapipe', terapipeBoundary],
    ] as const) // prettier-ignore
    {
      const far = onGroups(base, [group('H100-80GB', 1), group('V100-32GB', 1), group('A100-80GB', 1)], [0, 1, 2], [5, 2, 5]);
      const one = { ...far, training: { ...far.training, runtime, globalBatch: 2, precision: 'fp16' as const } };
      const { stages } = buildPipeline(one);
      /** The host launches kernels of TeraPipe's small passes during their sends. */
      const sent = (from: number, to: number): number => {
        const issued = (stages[from]!.cost(1, 2048, 0).issueWaitMs ?? 0) / 2;
        return Math.max(0, boundary(stages[from]!.inputs, 1, 2048, { to: stages[to]!.inputs }) - issued);
      };
      const work = stages.reduce((sum, { cost }) => sum + cost(1, 2048, 0).forwardMs + cost(1, 2048, 0).backwardMs, 0);
      const sends = sent(0, 1) + sent(1, 2) + sent(2, 1) + sent(1, 0);
      // TeraPipe's runtime holds the ends for a send that they do not have.
      const held = runtime === 'terapipe' ? sent(2, 1) + sent(0, 1) : 0;
      assert.ok(Math.abs(measured(one, schedule).pipelineMs / (work + sends + held) - 1) < 1e-12, schedule);
    }
  });

  it('count the peak of all GPUs in MFU', () => {
    const { mfu, iterationMs } = measured(wanted);
    const peak = 8 * linearPeak(groups[0], base.training) + 16 * linearPeak(groups[1], base.training);
    const flops = base.training.globalBatch * modelFlopsPerSequence(base.model, 2048);
    assert.ok(Math.abs(mfu / ((flops * 1e3) / iterationMs / peak) - 1) < 1e-12);
  });

  it('show what all kinds rest on, with the widest error bar', () => {
    const { cost } = makePlan(onGroups(base, [group('H100-80GB', 1), group('L40S', 2)], [1, 0, 1], [3, 6, 3]));
    assert.match(toText(cost.description), /L40S.*H100-80GB/);
    assert.equal(cost.errorPercent, 35);
  });

  it('limit each stage by its own GPU', () => {
    const { limits } = makePlan({ ...wanted, schedule: '1F1B' });
    const [first, middle, last] = limits!.map(({ ms }) => ms.math);
    assert.ok(Math.abs(first! / last! - 1) < 1e-9);
    assert.ok(middle! < 2 * first!);
  });

  it('judge memory by the card of each stage', () => {
    const roomy = onGroups(base, [group('H200', 1), group('RTX4090', 2)], [1, 0, 1], [2, 8, 2]);
    const { memory, fits } = measured(roomy);
    assert.ok(memory.stages[1]!.peakBytes > memory.stages[0]!.capacityBytes);
    assert.ok(fits);
    const swapped = measured(onGroups(base, [group('H200', 2), group('RTX4090', 1)], [0, 1, 0], [2, 8, 2]));
    assert.ok(!swapped.fits);
    assert.equal(swapped.memory.capacityBytes, group('RTX4090', 1).gpu.memoryBytes);
  });

  it('name a cluster by its groups', () => {
    assert.equal(toText(clusterText(wanted.cluster)), '1 node of 8 H100-80GB + 2 nodes of 8 A100-80GB');
  });
});
