import type { LauncherFormat } from '../../formats/config-format';

/** Launchers that run Megatron-LM's training loop and check its arguments. */
export const megatronFormats: readonly LauncherFormat[] = ['megatron-shell', 'megatron-yaml', 'nemo', 'megatron-bridge'];

/** Those whose argument checks also rule Megatron-LM's own scripts alone. */
export const megatronLmFormats: readonly LauncherFormat[] = ['megatron-shell', 'megatron-yaml'];

export const withTorchtitan: readonly LauncherFormat[] = [...megatronFormats, 'torchtitan'];
