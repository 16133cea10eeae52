import { mapAt, type YamlDocument, type YamlMap } from '../../languages/yaml/document';
import { bridgeDialect, bridgeNames } from '../megatron-bridge/write';
import { megatronSettings } from '../megatron/plan-settings';
import { plainDialect } from '../megatron/stages-setting';
import { argumentNames } from '../megatron/written-keys';
import { titanNames, titanSettings, titanSpellings } from '../torchtitan/write';
import type { Editor } from '../writing/editor';
import { keysUnder, withoutSections } from '../writing/key-names';
import { yamlSyntax } from '../writing/yaml-syntax';

/** Primus with Megatron-LM. */
export const primusEditor: Editor = {
  settings: (plan, { traits }) => megatronSettings(plan, traits),
  syntax: yamlSyntax({
    keys: (document) => keysUnder(moduleOverridesPrefix(document, 'megatron'), argumentNames),
    precisionSwitch: (document, name) => [...moduleOverridesPrefix(document, 'megatron').split('.').slice(0, -1), name],
  }),
};

/** Primus with Megatron-Bridge. */
export const primusBridgeEditor: Editor = {
  settings: (plan, { traits }) => megatronSettings(plan, traits, { ...plainDialect, countsVirtualStages: true }),
  syntax: yamlSyntax({
    ...bridgeDialect,
    keys: (document) => keysUnder(moduleOverridesPrefix(document, 'megatron_bridge'), withoutSections(bridgeNames)),
  }),
};

/** Primus with TorchTitan. */
export const primusTorchtitanEditor: Editor = {
  settings: titanSettings,
  syntax: yamlSyntax({
    keys: (document) => keysUnder(moduleOverridesPrefix(document, 'torchtitan'), titanNames),
    spelled: titanSpellings,
  }),
};

/** `modules.pre_trainer.overrides.` of a Primus experiment; nothing for a preset, whose settings are at its root. */
function moduleOverridesPrefix({ root }: YamlDocument, backend: string): string {
  const modules = [...(mapAt(root, ['modules'])?.entries ?? [])];
  const own = modules.find(([, { value }]) => value.kind === 'map' && textAt(value, 'framework') === backend);
  return own === undefined ? '' : `modules.${own[0]}.overrides.`;
}

function textAt(map: YamlMap, name: string): string | null {
  const value = map.entries.get(name)?.value;
  return value?.kind === 'scalar' ? value.text : null;
}
