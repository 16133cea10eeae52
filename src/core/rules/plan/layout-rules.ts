import type { Run } from '../../formats/run';
import { modelSpecOf } from '../../formats/written-model';
import { gpuPresets } from '../../cluster/presets';
import type { Finding } from '../../findings';
import { formatCount, plural } from '../../format';
import { hasAttention, splitsHeads, splitsState } from '../../model/mixers';
import type { ModelSpec, StateMixer } from '../../spec/model';
import { orList } from '../../text';
import { divisorsOf, nearest } from '../../numbers';
import { kindFor, runsVirtualStages } from '../../partition/scheduling';
import { findingAt, setFix, setFixes } from './settings';

/** Findings on how layers, heads and GPUs are divided. */
export function layoutFindings(run: Run): Finding[] {
  return [...layerFindings(run), ...chunkFindings(run), ...tensorFindings(run), ...nodeFindings(run), ...worldFindings(run)];
}

function layerFindings(run: Run): Finding[] {
  const layers = run.model.layers.value;
  const stages = run.layout.pipeline?.value;
  if (stages === undefined || run.layout.stageLayers !== undefined) return [];
  // each stack is cut by itself
  if (run.model.encoderLayers.value !== null && stages <= layers) return [];
  if (run.groups !== undefined && stages <= layers) return [];
  if (layers % stages !== 0) {
    const near = nearest(divisorsOf(layers), stages);
    const message =
      stages > layers
        ? `${plural(stages, 'stage')} for ${plural(layers, 'layer')}: ${formatCount(stages - layers)} would have none`
        : `${plural(layers, 'layer')} cannot be divided evenly over ${plural(stages, 'stage')}`;
    return [
      findingAt(
        run,
        'layout.pipeline',
        'layers-not-divisible',
        'error',
        { message, remedy: `set layout.pipeline to ${listed(near)}` },
        setFixes(run, 'layout.pipeline', near),
      ),
    ];
  }
  const virtual = run.layout.virtualStages?.value ?? 1;
  const perStage = layers / stages;
  if (perStage % virtual === 0) return [];
  const near = nearest(divisorsOf(perStage), virtual);
  const message = `${plural(perStage, 'layer')} a stage cannot be divided evenly into ${plural(virtual, 'virtual stage')}`;
  return [
    findingAt(
      run,
      'layout.virtualStages',
      'layers-virtual-stages',
      'error',
      { message, remedy: `set layout.virtualStages to ${listed(near)}` },
      setFixes(run, 'layout.virtualStages', near),
    ),
  ];
}

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

function tensorFindings(run: Run): Finding[] {
  const tensor = run.layout.tensor?.value ?? 1;
  const model = modelSpecOf(run.model, run.traits);
  if (model.state !== undefined && !splitsState(model.state, tensor)) return [stateFinding(run, model, model.state, tensor)];
  if (model.state !== undefined && !(model.layerKinds ?? []).some(hasAttention)) return [];
  const { heads, kvHeads, hidden } = run.model;
  const { ffn, stacks } = model;
  const { decoderHeads = heads.value, decoderFfn = ffn } = stacks ?? {};
  const splitsDecoder = (size: number): boolean => decoderHeads % size === 0 && decoderFfn % size === 0;
  const sizes = divisorsOf(heads.value).filter(
    (size) => splitsWidths(run, size) && splitsKvHeads(kvHeads.value, size) && splitsDecoder(size),
  );
  const near = nearest(sizes, tensor);
  const finding = (code: 'heads-tensor' | 'kv-heads-tensor' | 'width-tensor', message: string) =>
    findingAt(
      run,
      'layout.tensor',
      code,
      'error',
      { message, remedy: `set layout.tensor to ${listed(near)}` },
      setFixes(run, 'layout.tensor', near),
    );
  if (heads.value % tensor !== 0)
    return [
      finding('heads-tensor', `${plural(heads.value, 'attention head')} cannot be divided over a tensor size of ${formatCount(tensor)}`),
    ];
  const [odd, name] = ffn % tensor !== 0 ? [ffn, 'feed-forward width'] : [hidden.value, 'hidden size'];
  if (!splitsWidths(run, tensor))
    return [finding('width-tensor', `A ${name} of ${formatCount(odd)} cannot be divided over a tensor size of ${formatCount(tensor)}`)];
  if (!splitsDecoder(tensor)) {
    const what = decoderHeads % tensor === 0 ? `feed-forward width of ${formatCount(decoderFfn)}` : plural(decoderHeads, 'attention head');
    const code = decoderHeads % tensor === 0 ? 'width-tensor' : 'heads-tensor';
    return [finding(code, `The decoder's ${what} cannot be divided over a tensor size of ${formatCount(tensor)}`)];
  }
  if (!splitsKvHeads(kvHeads.value, tensor))
    return [
      finding(
        'kv-heads-tensor',
        `${plural(kvHeads.value, 'key/value head')} can be neither divided over nor repeated on a tensor size of ${formatCount(tensor)}`,
      ),
    ];
  if (tensor <= kvHeads.value) return [];
  return [
    findingAt(run, 'layout.tensor', 'kv-heads-tensor', 'information', {
      message: `${plural(kvHeads.value, 'key/value head')} on a tensor size of ${formatCount(tensor)}: each is kept by ${formatCount(tensor / kvHeads.value)} GPUs`,
      remedy: `a tensor size of ${formatCount(kvHeads.value)} or less keeps each once`,
    }),
  ];
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
