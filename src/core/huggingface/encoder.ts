import type { EncoderSizes } from '../model/ends';
import { integer } from '../domain/settings/rules';
import { readMembers } from '../languages/json/document';
import type { Family } from './family';
import { readMember, type Source } from './members';
import { own } from '../records';

/**
 * What each class that is read as an encoder has in addition to its layers. Absent: not known well enough to count. Source: configuration
 * classes of transformers 4.40.
 */
const known: Readonly<Record<string, Pick<EncoderSizes, 'tokenTypes' | 'pooler'> & { readonly image?: EncoderSizes['image'] }>> = {
  BertConfig: { tokenTypes: 2, pooler: true },
  RobertaConfig: { tokenTypes: 2, pooler: true },
  CamembertConfig: { tokenTypes: 2, pooler: true },
  XLMRobertaConfig: { tokenTypes: 2, pooler: true },
  DistilBertConfig: { tokenTypes: 0, pooler: false },
  ViTConfig: { tokenTypes: 0, pooler: true, image: { size: 224, patch: 16, channels: 3 } },
};

/** Classes of a head when the config names none (`PretrainedConfig.num_labels`). */
const defaultClasses = 2;

/**
 * Ends of an encoder as its config gives them; null for other families.
 * @throws ExpectedError `config-wrong-type`, `config-out-of-range`, `config-duplicate-key`; placed.
 */
export function readEncoder(source: Source): EncoderSizes | null {
  const family: Family = source.family;
  const sizes = own(known, family.configClass);
  if (family.kind !== 'encoder' || sizes === undefined) return null;
  const read = (key: string, otherwise: number, least = 1): number =>
    readMember(source, source.members.get(key), integer(least, 1_000_000))?.value ?? otherwise;
  const { image = null } = sizes;
  return {
    image:
      image === null
        ? null
        : { size: read('image_size', image.size), patch: read('patch_size', image.patch), channels: read('num_channels', image.channels) },
    tokenTypes: sizes.tokenTypes === 0 ? 0 : read('type_vocab_size', sizes.tokenTypes, 0),
    pooler: sizes.pooler,
    classes: labels(source) ?? read('num_labels', defaultClasses),
    architecture: architecture(source),
  };
}

/** Labels that `id2label` lists. */
function labels({ document, members }: Source): number | null {
  const listed = members.get('id2label');
  if (listed?.value.type !== 'object') return null;
  const count = readMembers(document, listed.value, 'id2label').size;
  return count === 0 ? null : count;
}

function architecture({ members }: Source): string | null {
  const [first] = members.get('architectures')?.value.children ?? [];
  return first?.type === 'string' ? String(first.value) : null;
}
