import type { ModelSpec } from '../../domain/model';
import { listOf, sentence } from '../../sentence';
import { fieldsSeverity, type ModelGap } from '../writing/remarks';
import { attentionParts, positionParts, scoreParts } from './attention-parts';
import { expertParts } from './expert-parts';
import { stateFlags, statePart } from './hybrid-flags';
import { isOfConfig, type ModelPart } from './model-part';
import { networkParts, normParts } from './network-parts';

/** Parts of a model, each with its flags. */
export const modelParts: readonly ModelPart[] = [
  ...attentionParts,
  ...networkParts,
  ...expertParts,
  ...positionParts,
  ...scoreParts,
  ...normParts,
  statePart,
];

/**
 * The model in flags of Megatron-LM; what they cannot express is in `modelGaps`.
 * @param isPatterned another setting gives the kinds of the layers, and with them their number.
 */
export function modelFlags(model: ModelSpec, isPatterned = false): readonly string[] {
  const { layers, hidden, heads } = model;
  return [
    ...(isPatterned ? [] : [`--num-layers ${layers}`]),
    `--hidden-size ${hidden}`,
    `--num-attention-heads ${heads}`,
    ...stateFlags(model, isPatterned),
    ...modelParts.flatMap(({ flags }) => flags?.(model) ?? []),
  ];
}

/** What Megatron-LM's flags leave out: a gap for each part that they cannot express, and one for all that the config leaves open. */
export function modelGaps(model: ModelSpec): readonly ModelGap[] {
  const lacking = modelParts.flatMap(({ fields, lacks }): readonly ModelGap[] => {
    const what = lacks?.(model) ?? null;
    if (what === null) return [];
    const severity = fieldsSeverity(fields);
    return [{ fields, severity, what, reason: sentence`Megatron-LM cannot express ${what}: this file trains another model` }];
  });
  const open = !isOfConfig(model)
    ? []
    : modelParts.flatMap((part) => {
        const what = part.open?.(model) ?? null;
        return what === null ? [] : [{ fields: part.fields, what }];
      });
  if (open.length === 0) return lacking;
  const what = sentence`${listOf(open.map((part) => part.what))}`;
  return [
    ...lacking,
    {
      fields: open.flatMap(({ fields }) => fields),
      severity: 'warning',
      what,
      reason: sentence`the config leaves open what Megatron-LM has a default for: ${what}`,
    },
  ];
}
