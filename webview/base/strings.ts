export { english as t } from '../../src/core/translate';
