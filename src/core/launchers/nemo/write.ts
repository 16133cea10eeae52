import { megatronSettings } from '../megatron/plan-settings';
import { plainDialect } from '../megatron/stages-setting';
import { writtenFacts } from '../megatron/written-keys';
import type { Editor } from '../writing/editor';
import { namesIn, spelledWith, spellingsIn, type KeyNames } from '../writing/key-names';
import { yamlSyntax } from '../writing/yaml-syntax';
import { modelTable, nemoKeys, precisionKeys } from './nemo';

const recompute = ['recomputeGranularity', 'recomputeMethod', 'recomputeLayers'] as const;

const names: KeyNames = {
  ...namesIn(nemoKeys, [...writtenFacts, 'nodes', 'gpusPerNode']),
  ...spelledWith(namesIn(modelTable, [], ['sequenceLength', ...recompute]), (name) => `model.${name}`),
  precision: precisionKeys.map(({ name }) => name),
};

/** NeMo 1.x. */
export const nemoEditor: Editor = {
  settings: (plan, { traits }) =>
    megatronSettings(plan, traits, { ...plainDialect, barsInPattern: false, countsVirtualStages: true, hasNodes: true }),
  syntax: yamlSyntax({
    keys: () => names,
    spelled: spellingsIn(nemoKeys),
  }),
};
