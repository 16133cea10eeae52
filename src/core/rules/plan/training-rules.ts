import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import { formatCount, formatNumber, formatPercent, formatTokens, plural } from '../../format';
import { findingAt, setFixes } from '../settings';
import { greatestDivisor } from '../../numbers';
import type { PlanRule } from './plan-rule';

/** The batch, the sequence and how it is trained. */
export const trainingPlanRules: readonly PlanRule[] = [
  {
    code: 'few-micro-batches',
    check: batchFindings,
    doc: 'A pipeline of p equal stages idles (p - 1) / (p - 1 + m) of the time with m micro-batches. Use more of them, or cut the sequence into token slices as TeraPipe does.',
  },
  {
    code: 'scheme-mismatch',
    check: schemeFindings,
    doc: '`slicing.scheme` must cover every sequence of a replica once and each from its first to its last token.',
  },
  {
    code: 'sequence-unit',
    check: sequenceFindings,
    doc: 'Slices are multiples of `slicing.unit`, and the sequence is not, so one slice is shorter. Choose a unit that divides the sequence.',
  },
  {
    code: 'activations-offload',
    check: offloadFindings,
    doc: 'Megatron-LM offloads the activations of whole layers (`training.offloadLayers`) only without a pipeline and without recompute. Other runtimes may do more.',
  },
  { code: 'precision-slow', check: precisionFindings, doc: 'The GPU runs bf16 far slower than fp16. V100 has no bf16 tensor cores.' },
];

/** Replicas: as given, or what the given sizes leave of the cluster. */
function replicas(run: Run): number | undefined {
  const { data, tensor, pipeline, context } = run.layout;
  if (data !== undefined) return data.value;
  if (tensor === undefined || pipeline === undefined || run.nodes === undefined || run.gpusPerNode === undefined) return undefined;
  const left = (run.nodes.value * run.gpusPerNode.value) / (tensor.value * pipeline.value * (context?.value ?? 1));
  return Number.isInteger(left) ? left : undefined;
}

function batchFindings(run: Run): Finding[] {
  const globalBatch = run.training.globalBatch?.value;
  const data = replicas(run);
  if (globalBatch === undefined || data === undefined) return [];
  const microBatch = run.training.microBatch?.value ?? 1;
  const step = data * microBatch;
  if (globalBatch % step !== 0) return [];
  const stages = run.layout.pipeline?.value ?? 1;
  const schedule = run.schedule?.value;
  const microBatches = globalBatch / step;
  if ((schedule !== '1F1B' && schedule !== 'GPipe') || microBatches >= stages) return [];
  return [
    findingAt(
      run,
      'schedule',
      'few-micro-batches',
      'information',
      {
        message: `${plural(microBatches, 'micro-batch', 'micro-batches')} for ${plural(stages, 'stage')}: equal stages idle ${formatPercent((stages - 1) / (stages - 1 + microBatches))} of the time`,
        remedy: `a global batch of ${formatCount(9 * stages * step)} idles a tenth, and TeraPipe cuts sequences too`,
      },
      setFixes(run, 'schedule', ['TeraPipe']),
    ),
  ];
}

function schemeFindings(run: Run): Finding[] {
  const scheme = run.scheme?.value;
  if (scheme === undefined) return [];
  const tokens = run.training.sequenceLength?.value;
  const data = replicas(run);
  const globalBatch = run.training.globalBatch?.value;
  const wrongLength = scheme.map((chunk) => chunk.tokens.reduce((sum, length) => sum + length, 0)).find((length) => length !== tokens);
  if (tokens !== undefined && wrongLength !== undefined)
    return [
      findingAt(run, 'slicing.scheme', 'scheme-mismatch', 'error', {
        message: `The slices of a sequence add up to ${formatTokens(wrongLength)}, and a sequence has ${formatTokens(tokens)}`,
        remedy: `make each list add up to ${formatCount(tokens)}`,
      }),
    ];
  const sequences = scheme.reduce((sum, chunk) => sum + chunk.batch, 0);
  const wanted = data === undefined || globalBatch === undefined ? undefined : globalBatch / data;
  if (wanted === undefined || sequences === wanted) return [];
  return [
    findingAt(run, 'slicing.scheme', 'scheme-mismatch', 'error', {
      message: `The scheme covers ${plural(sequences, 'sequence')}, and a replica has ${formatNumber(wanted)}`,
      remedy: `make its batch sizes add up to ${formatNumber(wanted)}`,
    }),
  ];
}

function sequenceFindings(run: Run): Finding[] {
  const tokens = run.training.sequenceLength?.value;
  const unit = run.unit?.value ?? 1;
  if (tokens === undefined || tokens % unit === 0) return [];
  const divisor = greatestDivisor(tokens, unit);
  return [
    findingAt(
      run,
      'slicing.unit',
      'sequence-unit',
      'warning',
      {
        message: `${formatTokens(tokens)} are no multiple of the slicing unit of ${formatCount(unit)}: one slice is shorter`,
        remedy: `set slicing.unit to a divisor of ${formatCount(tokens)}, as ${formatCount(divisor)}`,
      },
      setFixes(run, 'slicing.unit', [divisor]),
    ),
  ];
}

function precisionFindings(run: Run): Finding[] {
  const { precision } = run.training;
  const kinds = run.groups?.value.map((group) => group.gpu) ?? (run.gpu === undefined ? [] : [run.gpu.value]);
  const slow = kinds.find(({ peakTflops }) => peakTflops.bf16 * 4 <= peakTflops.fp16);
  if (slow === undefined || precision?.value !== 'bf16') return [];
  return [
    findingAt(
      run,
      'training.precision',
      'precision-slow',
      'warning',
      {
        message: `bf16 runs at ${formatNumber(slow.peakTflops.bf16)} TFLOP/s on ${slow.name}, fp16 at ${formatNumber(slow.peakTflops.fp16)}`,
        remedy: 'set training.precision to fp16',
      },
      setFixes(run, 'training.precision', ['fp16']),
    ),
  ];
}

/** Megatron-LM refuses whole layers on the host with a pipeline or with recompute (`TransformerConfig`). */
function offloadFindings(run: Run): Finding[] {
  const stages = run.layout.pipeline?.value ?? 1;
  const { offloadLayers, recompute, runtime } = run.training;
  const recomputes = recompute !== undefined && recompute.value !== 'none';
  if ((offloadLayers?.value ?? 0) === 0 || (runtime?.value ?? 'megatron') !== 'megatron' || (stages === 1 && !recomputes)) return [];
  const beside = stages > 1 ? `with ${plural(stages, 'pipeline stage')}` : `beside ${recompute?.value ?? ''} recompute`;
  return [
    findingAt(
      run,
      'training.offloadLayers',
      'activations-offload',
      'warning',
      {
        message: `Megatron-LM does not offload the activations of whole layers ${beside}`,
        remedy: 'set training.offloadLayers to 0, or training.runtime to what you run',
      },
      setFixes(run, 'training.offloadLayers', [0]),
    ),
  ];
}
