import { byDefault } from '../../domain/located';
import { modelOfHub } from '../../huggingface/hub-models';
import { readHuggingFace } from '../../huggingface/reader';
import { count, fixed } from '../../languages/reads';
import { parseYaml } from '../../languages/yaml/document';
import { environmentOnly } from '../../languages/yaml/references';
import type { Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import { createKeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { knownWord, pathWord } from '../tables/reads';
import { row, type Table } from '../tables/table';

/** Fields of `template/base_config.json`. */
const keys: Table = {
  flavor: [row('model.name', pathWord)],
  layers: [row('model.num_hidden_layers', count(1))],
  heads: [row('model.num_attention_heads', count(1))],
  kvHeads: [row('model.num_key_value_heads', count(1))],
  attention: [row('model.use_flash_attention', fixed('flash'))],
  tensor: [row('distributed.tp_size', count(1))],
  pipeline: [row('distributed.pp_size', count(1))],
  context: [row('distributed.cp_size', count(1))],
  data: [row('distributed.dp_size', count(1))],
  schedule: [row('distributed.pp_engine', knownWord({ '1f1b': '1F1B', afab: 'GPipe' }))],
  sequenceLength: [row('training.seq_length', count(1))],
  microBatch: [row('training.micro_batch_size', count(1))],
  gradientAccumulation: [row('training.gradient_accumulation_steps', count(1))],
};

/**
 * A config of picotron (`train.py --config`): a Llama with the sizes of a model of the hub, in which layers and heads may be others. Its
 * head is never tied, and keys and values are repeated to all heads before attention.
 * @throws ExpectedError for text that is not a mapping, placed; see `parseYaml`.
 */
export function readPicotron(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const written = reader.facts(keys);
  const facts = { ...codeFacts, ...headWidth(written), ...written };
  return { ...launcherFile(document, 'picotron', facts, reader), modelFiles: facts.flavor === undefined ? [] : [facts.flavor] };
}

/** The width over the heads, whatever heads the model of the hub has. */
function headWidth({ flavor, heads }: Facts): Pick<Facts, 'headDim'> {
  const config = flavor === undefined ? null : modelOfHub(flavor.value).config;
  const hidden = config === null ? undefined : readHuggingFace('', config).facts.hidden?.value;
  const width = (hidden ?? 0) / (heads?.value ?? 1);
  return heads === undefined || width < 1 || !Number.isInteger(width) ? {} : { headDim: byDefault(width, sentence`hidden over heads`) };
}

const reason = sentence`hard-coded in picotron's Llama`;

/** What `model.py` builds whatever the model of the hub has. Ranks of a replica are next to each other, its stages too. */
const codeFacts: Facts = {
  gatedMlp: byDefault(true, reason),
  norm: byDefault('rmsnorm', reason),
  positions: byDefault('rotary', reason),
  bias: byDefault(false, reason),
  qkvBias: byDefault(false, reason),
  tiedEmbeddings: byDefault(false, reason),
  stagesBeforeReplicas: byDefault(true, sentence`picotron's process grid`),
};
