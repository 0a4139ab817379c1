/** The texts in Spanish. */
import type { Texts } from './texts.js';

const uncertain =
  'No es seguro que se hayan guardado sus datos bancarios. Abra el enlace de nuevo en un momento: muestra el estado del pago si se guardaron, y el formulario si no.';

export const spanish: Texts = {
  locale: 'es-US',
  languageName: 'Español',
  languageSwitch: 'Idioma',
  skipToContent: 'Ir al contenido',
  footer: 'Los datos bancarios se cifran y se usan solo para este pago.',
  details: {
    heading: 'Detalles del pago',
    introduction: (direction, originator) =>
      direction === 'INBOUND'
        ? `${originator} le solicita un pago. Indique la cuenta bancaria con la que desea pagar.`
        : `${originator} quiere enviarle un pago. Indique la cuenta bancaria en la que desea recibirlo.`,
    originator: { INBOUND: 'Solicitado por', OUTBOUND: 'Enviado por' },
    holder: 'Titular de la cuenta',
    holderNote: 'La cuenta bancaria debe pertenecer a este titular.',
    amount: { INBOUND: 'Importe solicitado', OUTBOUND: 'Importe' },
    fee: 'Cargo por procesamiento',
    total: 'Total',
    note: 'Nota',
    expires: 'Enlace válido hasta',
    bank: 'Banco',
    erased: 'Eliminado',
    unpayable: (originator) =>
      `Este pago no se puede realizar: el nombre del titular no tiene letras ni cifras que los bancos puedan recibir. Aquí no se puede enviar nada. Pida un enlace nuevo a ${originator}, con el nombre en letras latinas.`,
  },
  form: {
    heading: 'Su cuenta bancaria',
    addressHeading: 'Dirección legal del titular de la cuenta',
    accountType: 'Tipo de cuenta',
    chooseAccountType: 'Elija una opción',
    checking: 'Cuenta corriente',
    savings: 'Cuenta de ahorros',
    routingNumber: 'Número de ruta',
    routingNumberHint: '9 dígitos. En un cheque, el primer número abajo a la izquierda.',
    accountNumber: 'Número de cuenta',
    accountNumberHint: 'De 4 a 17 dígitos.',
    confirmAccountNumber: 'Confirme el número de cuenta',
    addressLine1: 'Dirección, línea 1',
    city: 'Ciudad',
    state: 'Estado',
    stateHint: 'Dos letras en EE. UU.',
    postalCode: 'Código postal',
    postalCodeHint: 'Cinco dígitos en EE. UU.',
    country: 'País',
    submit: 'Enviar datos bancarios',
    submitting: 'Enviando…',
    consent: (direction, originator, total) =>
      direction === 'INBOUND'
        ? `Al enviar, autoriza a ${originator} a debitar ${total} una sola vez de esta cuenta.`
        : `Al enviar, pide a ${originator} que envíe ${total} a esta cuenta.`,
    problems: 'Revise el formulario',
    errorTitle: 'Error',
  },
  issues: {
    required: 'Complete este campo.',
    accountNumberMismatch:
      'Los dos números de cuenta son distintos. Escriba el mismo número dos veces.',
    other: 'Revise este valor y escríbalo de nuevo.',
    byCode: {
      validation_enum: 'Elija una de las opciones.',
      validation_routing_number:
        'Ningún banco de los Estados Unidos tiene este número de ruta. Escriba sus 9 dígitos.',
      validation_account_number: 'Escriba un número de cuenta de 4 a 17 dígitos.',
      validation_max_length: 'Es demasiado largo.',
      validation_state:
        'Escriba las dos letras de un estado de los Estados Unidos, por ejemplo CA.',
      validation_postal_code: 'Escriba un código postal de 5 dígitos.',
      validation_country_code: 'Elija un país.',
    },
  },
  status: {
    heading: 'Estado del pago',
    current: 'Estado',
    updated: 'Desde',
    refresh: 'Comprobar de nuevo',
    alreadySubmitted:
      'Ya se enviaron datos bancarios para este pago. Solo cuenta el primer envío. Lo que escribió ahora no se guardó.',
    names: {
      QUEUED: 'En cola',
      PROCESSING: 'En proceso',
      COMPLETED: 'Completado',
      FAILED: 'Fallido',
      FAILED_IN_FLIGHT: 'En revisión',
      BLOCKED: 'No procesado',
      RETURNED: 'Devuelto',
    },
    explanations: (direction) => ({
      QUEUED: 'Se recibieron los datos bancarios. El pago se enviará al banco.',
      PROCESSING: 'El pago se está enviando al banco.',
      COMPLETED:
        direction === 'INBOUND'
          ? 'El pago se entregó a los bancos. El débito suele verse en su cuenta en 1 o 2 días hábiles.'
          : 'El pago se entregó a los bancos. Suele llegar en 1 o 2 días hábiles.',
      FAILED: 'El pago falló. No se movió dinero.',
      FAILED_IN_FLIGHT: 'El banco aún no ha confirmado el pago. Está en revisión.',
      BLOCKED: 'Una revisión detuvo el pago. No se movió dinero.',
      RETURNED: 'El banco devolvió el pago.',
    }),
  },
  expired: {
    heading: 'Este enlace ha caducado',
    text: (direction, originator) =>
      direction === 'INBOUND'
        ? `${originator} creó este enlace para solicitar un pago.`
        : `${originator} creó este enlace para enviar un pago.`,
    way: 'Ya no se puede enviar nada. Pida un enlace nuevo.',
  },
  errors: {
    notFound: {
      heading: 'Página no encontrada',
      text: 'Este enlace no existe. Compruebe que copió la dirección completa o pida un enlace nuevo.',
      formText: 'Este enlace no existe o se canceló. No se guardó nada. Pida un enlace nuevo.',
    },
    forbidden: {
      heading: 'No se pudo aceptar el formulario',
      text: 'No se envió desde esta página. Abra el enlace de nuevo y rellene allí el formulario. No se guardó nada.',
    },
    tooMany: {
      heading: 'Demasiadas solicitudes',
      text: 'Esta página se abrió demasiadas veces. Espere un momento e inténtelo de nuevo.',
      formText:
        'Esta página se abrió demasiadas veces. No se guardó nada. Espere un momento, abra el enlace de nuevo y rellene allí el formulario.',
    },
    away: {
      heading: 'No disponible por el momento',
      text: 'El servicio no puede responder ahora. Inténtelo de nuevo en un momento.',
      formText: uncertain,
    },
    notReadable: {
      heading: 'No se pudo leer el formulario',
      text: 'Abra el enlace de nuevo y rellene allí el formulario. No se guardó nada.',
    },
    other: {
      heading: 'Algo salió mal',
      text: 'Inténtelo de nuevo en un momento.',
      formText: uncertain,
    },
  },
};
