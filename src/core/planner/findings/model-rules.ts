import type { Run } from '../../config/run';
import type { Finding } from '../../findings';
import { formatCount, formatNumber, formatTokens, plural } from '../../format';
import { paddedVocab } from '../../model/parameters';
import { orList } from '../../text';
import type { Plan } from '../plan';
import { divisorsOf, nearest } from '../../numbers';
import { findingAt, placeOfSetting, setFixes } from './settings';

/** Findings on the sizes of the model itself, and on how long a sequence it takes. */
export function modelFindings(run: Run, plan: Plan | null): Finding[] {
  return [...headFindings(run), ...positionFindings(run), ...vocabularyFindings(run, plan)];
}

function headFindings(run: Run): Finding[] {
  const { hidden, heads, kvHeads, headDim } = run.model;
  const findings: Finding[] = [];
  if (headDim.source.kind === 'default' && hidden.value % heads.value !== 0) {
    const near = nearest(divisorsOf(hidden.value), heads.value);
    findings.push(
      findingAt(run, 'model.heads', 'hidden-heads', 'error', {
        message: `A hidden size of ${formatCount(hidden.value)} cannot be divided over ${plural(heads.value, 'attention head')}`,
        remedy: `use ${orList(near.map(formatCount))} heads, or give the head size`,
      }),
    );
  }
  if (heads.value % kvHeads.value !== 0) {
    const near = nearest(divisorsOf(heads.value), kvHeads.value);
    findings.push(
      findingAt(run, 'model.kvHeads', 'kv-heads-heads', 'error', {
        message: `${plural(heads.value, 'attention head')} cannot share ${plural(kvHeads.value, 'key/value head')} evenly`,
        remedy: `use ${orList(near.map(formatCount))} key/value heads`,
      }),
    );
  }
  return findings;
}

function positionFindings(run: Run): Finding[] {
  const tokens = run.training.sequenceLength?.value;
  const { maxPositions, positions } = run.model;
  if (tokens === undefined || maxPositions.value === null || tokens <= maxPositions.value) return [];
  const learned = positions.value === 'learned';
  return [
    findingAt(
      run,
      'training.sequenceLength',
      'sequence-positions',
      learned ? 'error' : 'warning',
      {
        message: `A sequence of ${formatTokens(tokens)} is longer than the model's ${plural(maxPositions.value, 'position')}`,
        remedy: learned
          ? `set training.sequenceLength to ${formatCount(maxPositions.value)} or less`
          : `set training.sequenceLength to ${formatCount(maxPositions.value)} or less, or scale the rotary positions`,
      },
      setFixes(run, 'training.sequenceLength', [maxPositions.value]),
    ),
  ];
}

function vocabularyFindings(run: Run, plan: Plan | null): Finding[] {
  const vocab = run.model.vocab.value;
  const tensor = run.layout.tensor?.value ?? plan?.request.layout.tensor;
  if (tensor === undefined || vocab === 0) return [];
  const multiple = 128 * tensor;
  if (vocab % multiple === 0) return [];
  // every digit counts here, so not formatCount
  const padded = formatNumber(Math.ceil(vocab / multiple) * multiple);
  const vocabPlace = run.model.vocab.source;
  return [
    {
      code: 'vocabulary-padding',
      severity: 'information',
      place: vocabPlace.kind === 'file' ? vocabPlace.place : placeOfSetting(run, 'layout.tensor'),
      message: `A vocabulary of ${formatNumber(vocab)} is no multiple of 128 x tensor size ${formatCount(tensor)}: Megatron-LM pads it to ${padded}`,
      remedy: `planned with ${formatNumber(paddedVocab(vocab, tensor))}; give a vocabulary of ${padded} to plan exactly that`,
      fixes: [],
    },
  ];
}
