import type { FlagRead } from '../../languages/reads';
import type { Fact } from '../../run/facts';

/** The value of a setting by its name in base.yml. */
export type FindSetting = <T>(name: string, read: FlagRead<T>) => Fact<T> | undefined;
