import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import { formatCount, formatNumber, formatTokens, plural } from '../../format';
import { paddedVocab } from '../../model/parameters';
import { orList } from '../../text';
import { divisorsOf, nearest } from '../../numbers';
import { findingAt, placeOfSetting, setFixes } from './settings';

/** Findings on the sizes of the model itself, and on how long a sequence it takes. */
export function modelFindings(run: Run): Finding[] {
  return [...headFindings(run), ...positionFindings(run), ...vocabularyFindings(run)];
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
  const { maxPositions, positions, encoderLayers } = run.model;
  if (encoderLayers.value === null) return tooLong(run, 'sequenceLength', maxPositions.value, positions.value === 'learned');
  const { maxSourcePositions = null, sourcePositions } = run.traits?.stacks ?? {};
  const isLearned = positions.value === 'learned';
  return [
    ...tooLong(run, 'sequenceLength', maxSourcePositions, isLearned && sourcePositions === 'own'),
    ...tooLong(run, 'decoderSequenceLength', maxPositions.value, isLearned),
  ];
}

/** A length beyond the positions there are: an error where they are a table, a warning where they are computed. */
function tooLong(run: Run, name: 'sequenceLength' | 'decoderSequenceLength', most: number | null, isTable: boolean): Finding[] {
  const tokens = run.training[name]?.value;
  if (tokens === undefined || most === null || tokens <= most) return [];
  const key = `training.${name}` as const;
  const isRotary = run.model.positions.value === 'rotary';
  return [
    findingAt(
      run,
      key,
      'sequence-positions',
      isTable ? 'error' : 'warning',
      {
        message: `A sequence of ${formatTokens(tokens)} is longer than the model's ${plural(most, 'position')}`,
        remedy: `set ${key} to ${formatCount(most)} or less${isRotary ? ', or scale the rotary positions' : ''}`,
      },
      setFixes(run, key, [most]),
    ),
  ];
}

function vocabularyFindings(run: Run): Finding[] {
  const vocab = run.model.vocab.value;
  const tensor = run.layout.tensor?.value;
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
