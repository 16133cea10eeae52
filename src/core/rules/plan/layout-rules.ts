import type { Run } from '../../formats/run';
import { modelSpecOf } from '../../formats/written-model';
import { gpuPresets } from '../../cluster/presets';
import type { Finding } from '../../findings';
import { formatCount, plural } from '../../format';
import { splitsHeads, splitsState } from '../../model/mixers';
import type { ModelSpec, StateMixer } from '../../spec/model';
import { orList } from '../../text';
import { divisorsOf, nearest } from '../../numbers';
import { kindFor, runsVirtualStages } from '../../partition/scheduling';
import { findingAt, setFix, setFixes } from '../settings';
import type { PlanRule } from './plan-rule';

/** Chunks, states and GPUs that only a plan has. */
export const layoutPlanRules: readonly PlanRule[] = [
  {
    code: 'schedule-virtual-stages',
    check: chunkFindings,
    doc: "The schedule has another number of chunks on each stage than `layout.virtualStages`: one in TeraPipe, GPipe, Seq1F1B, ZB-H1, ZB-H2 and ZeroBubble, two in ZBVZeroBubble, DualPipeV and ZeroBubbleV. 1F1B, Interleaved1F1B, LoopedBFS and InterleavedZeroBubble run any number. Choose the schedule's number, or another schedule.",
  },
  {
    code: 'state-tensor',
    check: stateFindings,
    doc: 'Layers that hand on a state (Mamba, linear attention) are divided by their heads, and each GPU gets whole groups of heads that are written and read alike. Choose a tensor size that divides both. The first version of Mamba is not divided at all: Megatron-LM has no layer of it.',
  },
  {
    code: 'tensor-beyond-node',
    check: nodeFindings,
    doc: "A tensor-parallel group waits for two all-reduces a layer, in forward and in backward. Across nodes they run at the network's speed. Keep the group inside a node and use more pipeline stages instead.",
  },
  {
    code: 'world-size',
    check: worldFindings,
    doc: 'Tensor, pipeline, data and context sizes multiply to the number of GPUs a launcher starts. Change the data size or the nodes; the fixes offer the numbers that match.',
  },
];

/** A schedule whose number of chunks on each stage is fixed, and another one asked for. */
function chunkFindings(run: Run): Finding[] {
  const virtual = run.layout.virtualStages?.value ?? 1;
  const schedule = run.schedule?.value;
  if (schedule === undefined) return [];
  const kind = kindFor(schedule, { virtualStages: virtual });
  if (kind.chunksPerStage === 'several' || runsVirtualStages(kind, virtual)) return [];
  const { chunksPerStage } = kind;
  return [
    findingAt(
      run,
      'layout.virtualStages',
      'schedule-virtual-stages',
      'error',
      {
        message: `${schedule} has ${plural(chunksPerStage, 'virtual stage')} on each stage, not ${formatCount(virtual)}`,
        remedy: `set layout.virtualStages to ${formatCount(chunksPerStage)}, or another schedule`,
      },
      setFixes(run, 'layout.virtualStages', [chunksPerStage]),
    ),
  ];
}

function stateFindings(run: Run): Finding[] {
  const tensor = run.layout.tensor?.value ?? 1;
  const model = modelSpecOf(run.model, run.traits);
  return model.state === undefined || splitsState(model.state, tensor) ? [] : [stateFinding(run, model, model.state, tensor)];
}

/** A mixer with a state whose heads or groups the tensor size does not divide. */
function stateFinding(run: Run, model: ModelSpec, state: StateMixer, tensor: number): Finding {
  const near = nearest(
    divisorsOf(state.heads).filter((size) => splitsHeads(model, size)),
    tensor,
  );
  const what =
    state.kind === 'mamba'
      ? 'the first version of Mamba, which Megatron-LM does not divide over GPUs'
      : `${plural(state.heads, 'head')} in ${plural(state.groups, 'group')} of a state, which have to divide evenly`;
  return findingAt(
    run,
    'layout.tensor',
    'state-tensor',
    'error',
    { message: `A tensor size of ${formatCount(tensor)} meets ${what}`, remedy: `set layout.tensor to ${listed(near)}` },
    setFixes(run, 'layout.tensor', near),
  );
}

function nodeFindings(run: Run): Finding[] {
  const tensor = run.layout.tensor?.value ?? 1;
  const perNode = gpusPerNodeOf(run);
  if (perNode === undefined || tensor <= perNode) return [];
  const { heads, kvHeads } = run.model;
  const inside = divisorsOf(heads.value)
    .filter((size) => size <= perNode && splitsWidths(run, size) && splitsKvHeads(kvHeads.value, size))
    .slice(-1);
  return [
    findingAt(
      run,
      'layout.tensor',
      'tensor-beyond-node',
      'warning',
      {
        message: `A tensor size of ${formatCount(tensor)} crosses nodes of ${plural(perNode, 'GPU')}: every layer waits for the network`,
        remedy: `set layout.tensor to ${listed(inside)}`,
      },
      setFixes(run, 'layout.tensor', inside),
    ),
  ];
}

function worldFindings(run: Run): Finding[] {
  const perNode = gpusPerNodeOf(run);
  const nodes = run.nodes?.value;
  const names = (['tensor', 'pipeline', 'context', 'data'] as const).filter((name) => run.layout[name] !== undefined);
  const [first] = names;
  if (perNode === undefined || nodes === undefined || first === undefined) return [];
  const world = nodes * perNode;
  const product = names.reduce((gpus, name) => gpus * (run.layout[name]?.value ?? 1), 1);
  const complete = run.layout.tensor !== undefined && run.layout.pipeline !== undefined && run.layout.data !== undefined;
  if (complete ? product === world : world % product === 0) return [];

  const sizes = names.map((name) => `${name} ${formatCount(run.layout[name]?.value ?? 1)}`).join(' x ');
  const left = names.length > 1 ? `${sizes} = ${formatCount(product)}` : sizes;
  const cluster = `${formatCount(nodes)} x ${formatCount(perNode)} = ${formatCount(world)}`;
  const message = complete ? `${left} GPUs, but the cluster has ${cluster}` : `${left} does not divide the ${cluster} GPUs of the cluster`;

  const data = (world * (run.layout.data?.value ?? 1)) / product;
  const dataFits = run.layout.data !== undefined && Number.isInteger(data);
  const nodesNeeded = product / perNode;
  const nodesFit = Number.isInteger(nodesNeeded);
  const remedies = [
    ...(dataFits ? [`set layout.data to ${formatCount(data)}`] : []),
    ...(nodesFit ? [`set cluster.nodes to ${formatCount(nodesNeeded)}`] : []),
  ];
  return [
    findingAt(
      run,
      run.layout.data === undefined ? `layout.${first}` : 'layout.data',
      'world-size',
      'error',
      { message, remedy: remedies.length > 0 ? orList(remedies) : `choose sizes whose product divides ${formatCount(world)}` },
      [
        ...(dataFits ? setFix(run, 'layout.data', data, true) : []),
        ...(nodesFit ? setFix(run, 'cluster.nodes', nodesNeeded, !dataFits) : []),
      ],
    ),
  ];
}

function splitsWidths({ model }: Run, tensor: number): boolean {
  return modelSpecOf(model).ffn % tensor === 0 && model.hidden.value % tensor === 0;
}

function splitsKvHeads(kvHeads: number, tensor: number): boolean {
  return kvHeads % tensor === 0 || tensor % kvHeads === 0;
}

/** GPUs of a node; of the smallest, where there are several kinds. */
function gpusPerNodeOf(run: Run): number | undefined {
  if (run.groups !== undefined) return Math.min(...run.groups.value.map(({ gpusPerNode }) => gpusPerNode));
  if (run.gpusPerNode !== undefined) return run.gpusPerNode.value;
  const { gpu } = run;
  return gpu === undefined ? undefined : Object.values(gpuPresets).find((preset) => preset.gpu.name === gpu.value.name)?.gpusPerNode;
}

function listed(values: readonly number[]): string {
  return orList(values.map(formatCount));
}
