/**
 * Messages to XML: the business application header (head.001) and the document, in the ISO envelope for
 * both, BizMsgEnvlp (nvlp.001.001.01). The order of elements is the schema's. The texts of the message must
 * be characters of the rail (characters.ts) and within its lengths.
 */
import { unreachable } from '@pis/domain';
import type {
  CancellationAnswer,
  CancellationRequest,
  CreditTransfer,
  IsoAddress,
  IsoAgent,
  IsoMessage,
  IsoParty,
  IsoReason,
  OriginalTransfer,
  PaymentReturn,
  StatusReport,
  StatusRequest,
} from './messages.js';
import { fixedLength, type IsoIdentity, type IsoRailProfile, type IsoSender } from './profile.js';
import { optionalPart, part, writeXml, type XmlPart } from './xml.js';

export const isoNamespace = 'urn:iso:std:iso:20022:tech:xsd:';
export const envelopeNamespace = `${isoNamespace}nvlp.001.001.01`;

/**
 * The same bytes for the same message, whenever it is written.
 * @param sender our bank, also in a message that the other bank sends to us
 */
export function writeIsoMessage(
  profile: IsoRailProfile,
  sender: IsoSender,
  message: IsoMessage,
): Uint8Array {
  const document = part('Document', [documentBody(profile, message)], {
    xmlns: isoNamespace + profile.versions[message.type],
  });
  return writeXml(
    part(
      'BizMsgEnvlp',
      [part('Hdr', [header(profile, sender, message)]), part('Doc', [document])],
      { xmlns: envelopeNamespace },
    ),
  );
}

function header(profile: IsoRailProfile, sender: IsoSender, message: IsoMessage): XmlPart {
  const { version, to, businessService, marketPractice } = profile.header;
  const us = part('FIId', [part('FinInstnId', [headerParty(profile, ourId(profile, sender))])]);
  const other = to ?? otherAgent(message).bic ?? '';
  const them = part('FIId', [part('FinInstnId', [headerParty(profile, other)])]);
  const isOurs = isFromUs(message);
  return part(
    'AppHdr',
    [
      part('Fr', [isOurs ? us : them]),
      part('To', [isOurs ? them : us]),
      part('BizMsgIdr', message.messageId),
      part('MsgDefIdr', profile.versions[message.type]),
      businessService && part('BizSvc', businessService(sender.isTest)),
      marketPractice &&
        part('MktPrctc', [part('Regy', marketPractice.registry), part('Id', marketPractice.id)]),
      part('CreDt', message.createdAt),
    ],
    { xmlns: isoNamespace + version },
  );
}

export function isFromUs({ type }: IsoMessage): boolean {
  return type === 'pacs.008' || type === 'pacs.028' || type === 'camt.056';
}

function ourId(
  profile: IsoRailProfile,
  { routingNumber, bic, participantId }: IsoIdentity,
): string {
  if (profile.agents === 'BIC') return bic ?? '';
  return profile.rail === 'RTP'
    ? fixedLength(participantId ?? `${routingNumber}S1`, 11)
    : routingNumber;
}

function headerParty(profile: IsoRailProfile, id: string): XmlPart {
  return profile.agents === 'BIC' ? part('BICFI', id) : part('ClrSysMmbId', [part('MmbId', id)]);
}

/** The bank on the other side of a message of ours. */
function otherAgent(message: IsoMessage): IsoAgent {
  switch (message.type) {
    case 'pacs.008':
    case 'pacs.028':
      return message.instructedAgent;
    case 'camt.056':
      return message.assignee;
    case 'pacs.002':
    case 'pacs.004':
      return message.instructingAgent;
    case 'camt.029':
      return message.assigner;
    default:
      return unreachable(message);
  }
}

function documentBody(profile: IsoRailProfile, message: IsoMessage): XmlPart {
  switch (message.type) {
    case 'pacs.008':
      return creditTransfer(profile, message);
    case 'pacs.028':
      return statusRequest(profile, message);
    case 'camt.056':
      return cancellationRequest(profile, message);
    case 'pacs.002':
      return statusReport(profile, message);
    case 'pacs.004':
      return paymentReturn(profile, message);
    case 'camt.029':
      return cancellationAnswer(profile, message);
    default:
      return unreachable(message);
  }
}

function creditTransfer(profile: IsoRailProfile, message: CreditTransfer): XmlPart {
  const { serviceLevel, localInstrument, categoryPurpose } = profile.paymentType;
  const sum = (name: string) => amount(name, message.amountMinor, message.currencyCode);
  const settlementDate = part('IntrBkSttlmDt', message.settlementDate);
  const purpose =
    categoryPurpose &&
    (message.isBusiness === true ? categoryPurpose.business : categoryPurpose.consumer);
  const paymentType = [
    choice('SvcLvl', 'Cd', serviceLevel),
    choice('LclInstrm', 'Prtry', localInstrument),
    choice('CtgyPurp', 'Prtry', purpose),
  ];
  return part('FIToFICstmrCdtTrf', [
    part('GrpHdr', [
      part('MsgId', message.messageId),
      part('CreDtTm', message.createdAt),
      part('NbOfTxs', '1'),
      profile.hasGroupTotals ? sum('TtlIntrBkSttlmAmt') : null,
      profile.hasGroupTotals ? settlementDate : null,
      settlement(profile),
    ]),
    part('CdtTrfTxInf', [
      part('PmtId', [
        part('InstrId', message.instructionId),
        part('EndToEndId', message.endToEndId),
        optionalPart('TxId', message.transactionId),
        part('UETR', message.uetr),
      ]),
      paymentType.some((one) => one !== null) ? part('PmtTpInf', paymentType) : null,
      sum('IntrBkSttlmAmt'),
      profile.hasGroupTotals ? null : settlementDate,
      profile.hasInstructedAmount ? sum('InstdAmt') : null,
      part('ChrgBr', profile.chargeBearer),
      agent(profile, 'InstgAgt', message.instructingAgent),
      agent(profile, 'InstdAgt', message.instructedAgent),
      party('Dbtr', message.debtor),
      account('DbtrAcct', message.debtorAccount),
      agent(profile, 'DbtrAgt', message.debtorAgent),
      agent(profile, 'CdtrAgt', message.creditorAgent),
      party('Cdtr', message.creditor),
      account('CdtrAcct', message.creditorAccount),
      message.note === null ? null : part('RmtInf', [part('Ustrd', message.note)]),
    ]),
  ]);
}

function statusRequest(profile: IsoRailProfile, message: StatusRequest): XmlPart {
  const { original } = message;
  const isRtp = profile.originals === 'RTP';
  const originalAmount = isRtp ? message.originalAmount : null;
  return part('FIToFIPmtStsReq', [
    groupHeader(message),
    isRtp ? originalGroup('OrgnlGrpInf', original, true) : null,
    part('TxInf', [
      isRtp ? null : originalGroup('OrgnlGrpInf', original, false),
      optionalPart('OrgnlInstrId', original.instructionId),
      optionalPart('OrgnlEndToEndId', isRtp ? null : original.endToEndId),
      optionalPart('OrgnlTxId', original.transactionId),
      optionalPart('OrgnlUETR', isRtp ? null : original.uetr),
      optionalPart('AccptncDtTm', isRtp ? original.createdAt : null),
      agent(profile, 'InstgAgt', message.instructingAgent),
      agent(profile, 'InstdAgt', message.instructedAgent),
      originalAmount &&
        part('OrgnlTxRef', [
          amount('IntrBkSttlmAmt', originalAmount.amountMinor, originalAmount.currencyCode),
          optionalPart('IntrBkSttlmDt', message.originalSettlementDate),
        ]),
    ]),
  ]);
}

function statusReport(profile: IsoRailProfile, message: StatusReport): XmlPart {
  const { original, reason } = message;
  const isRtp = profile.originals === 'RTP';
  return part('FIToFIPmtStsRpt', [
    groupHeader(message),
    isRtp ? originalGroup('OrgnlGrpInfAndSts', original, true) : null,
    part('TxInfAndSts', [
      isRtp ? null : originalGroup('OrgnlGrpInf', original, false),
      ...originalIds(original, !isRtp),
      part('TxSts', message.status),
      reasonInformation('StsRsnInf', reason),
      optionalPart('AccptncDtTm', message.acceptedAt),
      agent(profile, 'InstgAgt', message.instructingAgent),
      agent(profile, 'InstdAgt', message.instructedAgent),
    ]),
  ]);
}

function paymentReturn(profile: IsoRailProfile, message: PaymentReturn): XmlPart {
  const { original, originalAmountMinor, currencyCode } = message;
  const chain = [message.debtor, message.creditor].every((one) => one !== null)
    ? part('RtrChain', [returnParty('Dbtr', message.debtor), returnParty('Cdtr', message.creditor)])
    : null;
  return part('PmtRtr', [
    part('GrpHdr', [
      part('MsgId', message.messageId),
      part('CreDtTm', message.createdAt),
      part('NbOfTxs', '1'),
      settlement(profile),
    ]),
    part('TxInf', [
      part('RtrId', message.returnId),
      originalGroup('OrgnlGrpInf', original, false),
      ...originalIds(original, true),
      originalAmountMinor === null
        ? null
        : amount('OrgnlIntrBkSttlmAmt', originalAmountMinor, currencyCode),
      optionalPart('OrgnlIntrBkSttlmDt', message.originalSettlementDate),
      amount('RtrdIntrBkSttlmAmt', message.returnedAmountMinor, currencyCode),
      part('IntrBkSttlmDt', message.settlementDate),
      profile.hasInstructedAmount
        ? amount('RtrdInstdAmt', message.returnedAmountMinor, currencyCode)
        : null,
      part('ChrgBr', profile.chargeBearer),
      agent(profile, 'InstgAgt', message.instructingAgent),
      agent(profile, 'InstdAgt', message.instructedAgent),
      chain,
      reasonInformation('RtrRsnInf', message.reason),
    ]),
  ]);
}

function cancellationRequest(profile: IsoRailProfile, message: CancellationRequest): XmlPart {
  const { original } = message;
  return part('FIToFIPmtCxlReq', [
    assignment(profile, message),
    caseOf(profile, message),
    part('Undrlyg', [
      part('TxInf', [
        originalGroup('OrgnlGrpInf', original, false),
        ...originalIds(original, true),
        amount('OrgnlIntrBkSttlmAmt', message.originalAmountMinor, message.currencyCode),
        part('OrgnlIntrBkSttlmDt', message.originalSettlementDate),
        reasonInformation('CxlRsnInf', message.reason),
      ]),
    ]),
  ]);
}

function cancellationAnswer(profile: IsoRailProfile, message: CancellationAnswer): XmlPart {
  const { original } = message;
  return part('RsltnOfInvstgtn', [
    assignment(profile, message),
    message.caseId === null
      ? null
      : part('RslvdCase', [
          part('Id', message.caseId),
          part('Cretr', [agent(profile, 'Agt', message.assignee)]),
        ]),
    part('Sts', [part('Conf', message.status)]),
    part('CxlDtls', [
      part('TxInfAndSts', [
        originalGroup('OrgnlGrpInf', original, false),
        ...originalIds(original, true),
        reasonInformation('CxlStsRsnInf', message.reason),
      ]),
    ]),
  ]);
}

function groupHeader(message: IsoMessage): XmlPart {
  return part('GrpHdr', [part('MsgId', message.messageId), part('CreDtTm', message.createdAt)]);
}

function assignment(
  profile: IsoRailProfile,
  message: CancellationRequest | CancellationAnswer,
): XmlPart {
  return part('Assgnmt', [
    part('Id', message.messageId),
    part('Assgnr', [agent(profile, 'Agt', message.assigner)]),
    part('Assgne', [agent(profile, 'Agt', message.assignee)]),
    part('CreDtTm', message.createdAt),
  ]);
}

function caseOf(profile: IsoRailProfile, message: CancellationRequest): XmlPart {
  return part('Case', [
    part('Id', message.caseId),
    part('Cretr', [agent(profile, 'Agt', message.assigner)]),
  ]);
}

function originalGroup(
  name: string,
  { messageId, messageName, createdAt }: OriginalTransfer,
  isCounted: boolean,
): XmlPart | null {
  if (messageId === null || messageName === null) return null;
  return part(name, [
    part('OrgnlMsgId', messageId),
    part('OrgnlMsgNmId', messageName),
    optionalPart('OrgnlCreDtTm', createdAt),
    isCounted ? part('OrgnlNbOfTxs', '1') : null,
  ]);
}

function originalIds(original: OriginalTransfer, withEndToEnd: boolean): (XmlPart | null)[] {
  return [
    optionalPart('OrgnlInstrId', original.instructionId),
    optionalPart('OrgnlEndToEndId', withEndToEnd ? original.endToEndId : null),
    optionalPart('OrgnlTxId', original.transactionId),
    optionalPart('OrgnlUETR', original.uetr),
  ];
}

function settlement({ settlement: { method, clearingSystem } }: IsoRailProfile): XmlPart {
  return part('SttlmInf', [
    part('SttlmMtd', method),
    clearingSystem && part('ClrSys', [part('Cd', clearingSystem)]),
  ]);
}

function reasonInformation(name: string, reason: IsoReason | null): XmlPart | null {
  if (reason === null) return null;
  const { code, proprietary, text } = reason;
  const rsn = code !== null ? part('Cd', code) : optionalPart('Prtry', proprietary);
  return part(name, [rsn && part('Rsn', [rsn]), optionalPart('AddtlInf', text)]);
}

function amount(name: string, minor: number, currencyCode: string): XmlPart {
  return part(name, decimalOf(minor), { Ccy: currencyCode });
}

/** Of a currency with two decimals. */
export function decimalOf(minor: number): string {
  const digits = String(minor).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function agent(profile: IsoRailProfile, name: string, { routingNumber, bic }: IsoAgent): XmlPart {
  const member = (scheme: XmlPart | null) =>
    part('ClrSysMmbId', [scheme, part('MmbId', routingNumber ?? '')]);
  const usaba = part('ClrSysId', [part('Cd', 'USABA')]);
  const id =
    profile.agents === 'BIC' && bic !== null
      ? part('BICFI', bic)
      : member(profile.agents === 'member' ? null : usaba);
  return part(name, [part('FinInstnId', [id])]);
}

function party(name: string, { name: partyName, address }: IsoParty): XmlPart {
  return part(name, [part('Nm', partyName), address && postalAddress(address)]);
}

function returnParty(name: string, value: IsoParty | null): XmlPart | null {
  return value && part(name, [part('Pty', [part('Nm', value.name)])]);
}

function postalAddress(address: IsoAddress): XmlPart {
  return part('PstlAdr', [
    optionalPart('StrtNm', address.street),
    optionalPart('PstCd', address.postalCode),
    part('TwnNm', address.town),
    optionalPart('CtrySubDvsn', address.state),
    part('Ctry', address.country),
    ...address.lines.map((line) => part('AdrLine', line)),
  ]);
}

function account(name: string, id: string): XmlPart {
  return part(name, [part('Id', [part('Othr', [part('Id', id)])])]);
}

function choice(name: string, kind: 'Cd' | 'Prtry', value: string | null): XmlPart | null {
  return value === null ? null : part(name, [part(kind, value)]);
}
