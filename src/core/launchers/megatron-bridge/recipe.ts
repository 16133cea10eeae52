import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import { configError } from '../../errors';
import { fileStart } from '../../languages/json/document';
import { toYamlDocument } from '../../languages/python/as-settings';
import { importedConfigs, pickedConfig } from '../../languages/python/configs';
import { evaluateFunction } from '../../languages/python/evaluate';
import { bridgeFile } from './megatron-bridge';

/** Whether a function's header is that of a recipe. */
const makesRecipe = (header: string): boolean => /->\s*"?(?:\w+\.)*ConfigContainer\b/.test(header);

/**
 * Recipes of Megatron-Bridge: functions that make a `ConfigContainer` and assign to it, over what functions of other recipes return. They
 * are followed, not run: what a call of other libraries gives is unknown.
 * @throws ExpectedError as `parsePython`; `config-unknown-format` for a module without a recipe that can be followed.
 */
export const recipeFiles: Composition = {
  findBases: (layer) => importedConfigs(layer, (module) => /(^|\.)recipes\.(?!utils\.)|^\.+\w/.test(module)),
  read: (layers) => {
    const picked = pickedConfig(layers, makesRecipe);
    const result = picked === null ? null : evaluateFunction([...picked.modules, picked.own], picked.own, picked.name);
    if (picked === null || result === null)
      throw configError(
        'config-unknown-format',
        sentence`No recipe of this module can be followed`,
        sentence`name a module whose functions return a ConfigContainer`,
        fileStart(layers.at(-1)?.file ?? ''),
      );
    const launcher = bridgeFile(toYamlDocument(picked.own, picked.modules, result), 'bridge-python');
    return { ...launcher, remarks: [...launcher.remarks, ...picked.remarks] };
  },
};
