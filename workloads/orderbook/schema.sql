-- Both sides of an order book. Prices are in hundredths of a cent, and eight digits keep every product exact:
-- BSV multiplies four of these numbers, and 38 digits hold the result.
CREATE TABLE bids (
  t BIGINT,
  id BIGINT,
  broker_id INT,
  price DECIMAL(8, 0),
  volume DECIMAL(8, 0),
  PRIMARY KEY (id)
);

CREATE TABLE asks (
  t BIGINT,
  id BIGINT,
  broker_id INT,
  price DECIMAL(8, 0),
  volume DECIMAL(8, 0),
  PRIMARY KEY (id)
);
