import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import { formatCount, formatNumber, formatTokens, plural } from '../../format';
import { paddedVocab } from '../../model/parameters';
import { findingAt, placeOfSetting, setFixes } from '../settings';
import type { PlanRule } from './plan-rule';

/** How long a sequence the model takes, and its vocabulary. */
export const modelPlanRules: readonly PlanRule[] = [
  {
    code: 'sequence-positions',
    check: positionFindings,
    doc: 'A learned position table has no entries beyond the positions of the model (an error); rotary positions can be scaled (a warning).',
  },
  {
    code: 'vocabulary-padding',
    check: vocabularyFindings,
    doc: 'Megatron-LM pads the vocabulary to a multiple of 128 times the tensor size, so that every GPU holds an equal and well aligned part. Only information: nothing needs to be done.',
  },
];

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
