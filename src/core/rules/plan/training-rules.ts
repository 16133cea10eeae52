import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import { formatCount, formatNumber, formatPercent, formatTokens, plural } from '../../format';
import { orList } from '../../text';
import { nearestMultiples } from '../../numbers';
import { findingAt, setFixes } from './settings';

/** Findings on the batch, the sequence and how it is trained. */
export function trainingFindings(run: Run): Finding[] {
  return [...batchFindings(run), ...schemeFindings(run), ...sequenceFindings(run), ...habitFindings(run)];
}

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
  if (globalBatch % step !== 0) {
    const near = nearestMultiples(step, globalBatch);
    const over = microBatch === 1 ? plural(data, 'replica') : `${plural(data, 'replica')} in micro-batches of ${formatCount(microBatch)}`;
    return [
      findingAt(
        run,
        'training.globalBatch',
        'global-batch',
        'error',
        {
          message: `A global batch of ${formatCount(globalBatch)} cannot be divided over ${over}`,
          remedy: `set training.globalBatch to ${listed(near)}`,
        },
        setFixes(run, 'training.globalBatch', near),
      ),
    ];
  }
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
  if (tokens === undefined) return [];
  const context = run.layout.context?.value ?? 1;
  const tensor = run.layout.tensor?.value ?? 1;
  const unit = run.unit?.value ?? 1;
  const nearTo = (step: number) => nearestMultiples(step, tokens);
  const at = (code: 'context-length' | 'sequence-parallel-length', message: string, step: number) =>
    findingAt(
      run,
      'training.sequenceLength',
      code,
      'error',
      { message, remedy: `set training.sequenceLength to ${listed(nearTo(step))}` },
      setFixes(run, 'training.sequenceLength', nearTo(step)),
    );
  const findings: Finding[] = [];
  if (context > 1 && tokens % (2 * context) !== 0)
    findings.push(
      at(
        'context-length',
        `${formatTokens(tokens)} cannot be divided into 2 x ${formatCount(context)} parts for context parallelism`,
        2 * context,
      ),
    );
  else if (run.training.sequenceParallel?.value === true && tokens % tensor !== 0)
    findings.push(
      at(
        'sequence-parallel-length',
        `${formatTokens(tokens)} cannot be divided over a tensor size of ${formatCount(tensor)} for sequence parallelism`,
        tensor,
      ),
    );
  if (tokens % unit !== 0)
    findings.push(
      findingAt(
        run,
        'slicing.unit',
        'sequence-unit',
        'warning',
        {
          message: `${formatTokens(tokens)} are no multiple of the slicing unit of ${formatCount(unit)}: one slice is shorter`,
          remedy: `set slicing.unit to a divisor of ${formatCount(tokens)}, as ${formatCount(greatestCommonDivisor(tokens, unit))}`,
        },
        setFixes(run, 'slicing.unit', [greatestCommonDivisor(tokens, unit)]),
      ),
    );
  return findings;
}

function habitFindings(run: Run): Finding[] {
  const { zeroStage, recompute, attention, precision } = run.training;
  const stages = run.layout.pipeline?.value ?? 1;
  const findings: Finding[] = [];
  if (stages > 1 && zeroStage !== undefined && zeroStage.value >= 2)
    findings.push(
      findingAt(
        run,
        'training.zeroStage',
        'zero-with-pipeline',
        'warning',
        {
          message: `ZeRO stage ${zeroStage.value} with ${plural(stages, 'pipeline stage')}: gradients are reduced for every micro-batch; DeepSpeed refuses it`,
          remedy: 'set training.zeroStage to 1',
        },
        setFixes(run, 'training.zeroStage', [1]),
      ),
    );
  if (recompute?.value === 'selective' && attention?.value === 'flash')
    findings.push(
      findingAt(run, 'training.recompute', 'selective-recompute-flash', 'information', {
        message: 'Flash attention keeps no scores, so selective recompute of attention saves almost nothing',
        remedy: 'set training.recompute to none or full',
      }),
    );
  findings.push(...offloadFindings(run, stages));
  const kinds = run.groups?.value.map((group) => group.gpu) ?? (run.gpu === undefined ? [] : [run.gpu.value]);
  const slow = kinds.find(({ peakTflops }) => peakTflops.bf16 * 4 <= peakTflops.fp16);
  if (slow !== undefined && precision?.value === 'bf16')
    findings.push(
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
    );
  return findings;
}

/** Megatron-LM refuses whole layers on the host with a pipeline or with recompute (`TransformerConfig`). */
function offloadFindings(run: Run, stages: number): Finding[] {
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

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

function listed(values: readonly number[]): string {
  return orList(values.map(formatCount));
}
