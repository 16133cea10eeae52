import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { fsdpTraits } from '../traits';

/** LLM Foundry on Composer: MPT and models of Transformers under FSDP or DDP. */
export const llmFoundry: Launcher = {
  file: sentence`an LLM Foundry YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isLlmFoundry(yaml()),
  reader: async () => (await import('./llm-foundry')).readLlmFoundry,
  traits: { ...fsdpTraits, capsMicroBatch: true },
  capabilities: {
    name: 'LLM Foundry',
    source:
      'mosaicml/llm-foundry at 8c8dd48f, llmfoundry/utils/config_utils.py 60 to 200 and 515 to 567, models/mpt/configuration_mpt.py 28 to 60; mosaicml/composer at 64051888, composer/core/state.py 570, utils/parallelism.py 25 to 38', // prettier-ignore
    setBy: setBy(['tensor', 'microBatch', 'recompute', 'zeroStage']),
    refuses: [],
    recomputes: wholeLayersOnly,
    // FSDP keeps fp32 shards, and makes gradients of their type again after it has reduced them
    silent: { ...silentCheckpointing(false), precision: 'bf16', gradAccumulationFp32: true, compile: false },
  },
  modelNamed: modelOfHub,
};

/** A training YAML, or one of MosaicML's platform that holds it under `parameters`. */
function isLlmFoundry({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  const isMade = (keys: ReadonlySet<string> | undefined): boolean =>
    hasAny(keys, ['train_loader']) && hasAny(keys, ['tokenizer', 'algorithms']);
  const isSized = (keys: ReadonlySet<string> | undefined): boolean =>
    hasAny(keys, ['global_train_batch_size', 'device_train_microbatch_size', 'fsdp_config']);
  const parameters = sections.get('parameters');
  return (names.has('model') && isMade(names) && isSized(names)) || (hasAny(parameters, ['model']) && isMade(parameters) && isSized(parameters)); // prettier-ignore
}
